// The paper's statements about its figures, and whether they hold here. Pure: everything said about this
// machine follows from its measurements.
#pragma once

#include "millrace/report/study/study_result.h"

#include <string>
#include <string_view>
#include <vector>

namespace millrace::report {

enum class Verdict {
  agrees,     // the same was measured here
  differs,    // something else was measured
  undecided,  // the intervals are inconclusive
  not_here,   // this machine lacks the hardware, or it was not measured
};
[[nodiscard]] std::string_view name_of(Verdict verdict);

struct Judgement {
  Verdict verdict = Verdict::not_here;
  std::string here;  // the measurement, in words and figures
};

// A statement of the paper about one of its figures.
struct Finding {
  std::string_view machines;  // the paper's machines it is about
  std::string_view topic;     // a few words
  std::string_view paper;     // the paper's text
  std::string_view taken_as;  // how it is tested here
  Judgement anew;             // with threads created anew for every stage, as in the paper
  Judgement pool;             // with the threads of the pool
};

// For fig2 to fig7. Empty for the map.
[[nodiscard]] std::vector<Finding> findings_of(Figure figure, const StudyResult& study);

// "With threads made anew 3 of 5 statements hold here: ...; not: ...; open: ...; not for this machine: ..."
[[nodiscard]] std::string summary_of(const std::vector<Finding>& findings);

}  // namespace millrace::report
