// What the paper says of its figures, and whether it holds here. Pure: every word about this machine follows
// from what was measured on it.
#pragma once

#include "millrace/report/study/study_result.h"

#include <string>
#include <string_view>
#include <vector>

namespace millrace::report {

enum class Verdict {
  agrees,     // the same was measured here
  differs,    // something else was
  undecided,  // the intervals leave it open
  not_here,   // this machine has not what it takes, or it was not measured
};
[[nodiscard]] std::string_view name_of(Verdict verdict);

struct Judgement {
  Verdict verdict = Verdict::not_here;
  std::string here;  // what was measured, in words and figures
};

// A statement of the paper about one of its figures.
struct Finding {
  std::string_view machines;  // of the paper, that it is about
  std::string_view topic;     // in a few words
  std::string_view paper;     // what the text says
  std::string_view taken_as;  // what is asked of the figures here
  Judgement anew;             // with threads made anew for every stage, as the paper has them
  Judgement pool;             // with the threads of the pool
};

// Of fig2 to fig7; none for the map.
[[nodiscard]] std::vector<Finding> findings_of(Figure figure, const StudyResult& study);

// "With threads made anew 3 of 5 statements hold here: ...; not: ...; open: ...; not for this machine: ..."
[[nodiscard]] std::string summary_of(const std::vector<Finding>& findings);

}  // namespace millrace::report
