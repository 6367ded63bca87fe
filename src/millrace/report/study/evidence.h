// The evidence for judging a statement, and the verdicts that follow from a ratio of times.
#pragma once

#include "millrace/image/pipeline/presets.h"
#include "millrace/report/study/findings.h"

#include <optional>
#include <string>
#include <string_view>

namespace millrace::report {

// The study, restricted to one kind of team.
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
  // For @B: the speed relative to one thread.
  [[nodiscard]] std::optional<MeanInterval> speedup(std::string_view input, image::Structure structure,
                                                    int threads) const {
    return study.ratio(at("@B", input, structure, 1), at("@B", input, structure, threads));
  }
  // On foreman: the time of one relative to the other.
  [[nodiscard]] std::optional<MeanInterval> against(std::string_view pipeline, image::Structure one,
                                                    image::Structure other, int threads) const {
    return study.ratio(at(pipeline, foreman, one, threads), at(pipeline, foreman, other, threads));
  }
};

// "1.23 (1.20 to 1.26)"
[[nodiscard]] std::string text_of(const MeanInterval& value);
// "2 threads"
[[nodiscard]] std::string threads_text(int threads);

// The judgement that this machine has too few threads.
[[nodiscard]] Judgement needs(const Evidence& evidence, int threads);
inline const Judgement not_measured{Verdict::not_here, "not measured"};

// Combines judgements on one statement: it holds if each part does.
[[nodiscard]] Verdict together(Verdict a, Verdict b);
[[nodiscard]] Verdict holds(bool held);
// Whether a ratio of times is below, or above, 1, as far as its interval tells.
[[nodiscard]] Verdict is_faster(const MeanInterval& ratio);
[[nodiscard]] Verdict is_slower(const MeanInterval& ratio);
// Differences below 5 % are ignored, whatever the interval.
[[nodiscard]] bool is_same(const MeanInterval& ratio);

}  // namespace millrace::report
