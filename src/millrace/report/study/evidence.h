// What a statement is judged by, and what a ratio of times says of one.
#pragma once

#include "millrace/image/pipeline/presets.h"
#include "millrace/report/study/findings.h"

#include <optional>
#include <string>
#include <string_view>

namespace millrace::report {

// The study, seen through one kind of team.
struct Evidence {
  const StudyResult& study;
  Team team;

  [[nodiscard]] int all_threads() const { return study.machine.threads; }
  [[nodiscard]] StudyCase
  at(std::string_view pipeline, std::string_view input, image::Structure structure, int threads,
     machine::AffinityArrangement affinity = machine::AffinityArrangement::free) const {
    return {std::string(pipeline), std::string(input),
            paper_schedule(study.machine, structure, threads, team, affinity)};
  }
  // Of @B: how many times the speed of one thread.
  [[nodiscard]] std::optional<MeanInterval> speedup(std::string_view input, image::Structure structure,
                                                    int threads) const {
    return study.ratio(at("@B", input, structure, 1), at("@B", input, structure, threads));
  }
  // On foreman: time of the one, of the other's.
  [[nodiscard]] std::optional<MeanInterval> against(std::string_view pipeline, image::Structure one,
                                                    image::Structure other, int threads) const {
    return study.ratio(at(pipeline, foreman, one, threads), at(pipeline, foreman, other, threads));
  }
};

// "1.23 (1.20 to 1.26)"
[[nodiscard]] std::string text_of(const MeanInterval& value);
// "2 threads"
[[nodiscard]] std::string threads_text(int threads);

// That there are fewer threads here.
[[nodiscard]] Judgement needs(const Evidence& evidence, int threads);
inline const Judgement not_measured{Verdict::not_here, "not measured"};

// Of several judgements on one statement: it holds where each part does.
[[nodiscard]] Verdict together(Verdict a, Verdict b);
[[nodiscard]] Verdict holds(bool held);
// Whether a ratio of times is below 1, or above, as far as its interval tells.
[[nodiscard]] Verdict is_faster(const MeanInterval& ratio);
[[nodiscard]] Verdict is_slower(const MeanInterval& ratio);
// A twentieth counts for nothing, whatever the interval.
[[nodiscard]] bool is_same(const MeanInterval& ratio);

}  // namespace millrace::report
