// Figures 4 to 6: one structure against another.
#include "millrace/report/study/judgements.h"

#include <algorithm>
#include <array>
#include <initializer_list>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace millrace::report::judgements {
namespace {

using image::Structure;
using machine::AffinityArrangement;

// Judges the time of one structure relative to another's on each of the pipelines.
Judgement judge_times(const Evidence& evidence, std::initializer_list<std::string_view> pipelines,
                      std::pair<Structure, Structure> structures, int threads, std::string_view names,
                      Verdict (*judge)(const MeanInterval&)) {
  Judgement judgement{Verdict::agrees, ""};
  for (const std::string_view pipeline : pipelines) {
    const auto ratio = evidence.against(pipeline, structures.first, structures.second, threads);
    if (!ratio) return not_measured;
    judgement.verdict = together(judgement.verdict, judge(*ratio));
    judgement.here +=
        fmt::format("{}{} {}", judgement.here.empty() ? "" : "; ", pipeline.substr(1), text_of(*ratio));
  }
  judgement.here += fmt::format(": time of {}, {}", names, threads_text(threads));
  return judgement;
}

constexpr std::pair bd_of_sequential{Structure::backward, Structure::sequential};
constexpr std::string_view bd_of_sequential_text = "BD over sequential";

constexpr std::pair store_of_sequential{Structure::backward_store, Structure::sequential};

// The pipelines on which BD-CACHED is faster than `other`.
Judgement cached_wins_exactly(const Evidence& evidence, Structure other, std::string_view name,
                              std::initializer_list<std::string_view> among,
                              std::initializer_list<std::string_view> expected) {
  const int threads = threads_of_fig6(evidence.study.machine);
  std::vector<std::string> ratios;
  Verdict verdict = Verdict::agrees;
  for (const std::string_view pipeline : among) {
    const auto ratio = evidence.against(pipeline, Structure::backward_cached, other, threads);
    if (!ratio) return not_measured;
    const bool wins_there = std::ranges::find(expected, pipeline) != expected.end();
    // On pipelines where the paper has no gain, it may be equally fast here.
    const Verdict here = wins_there        ? is_faster(*ratio)
                         : ratio->high < 1 ? Verdict::differs
                                           : Verdict::agrees;
    verdict = together(verdict, here);
    ratios.push_back(fmt::format("{} {}", pipeline.substr(1), text_of(*ratio)));
  }
  return {verdict, fmt::format("{}: time of BD-CACHED over {}, {}", fmt::join(ratios, "; "), name,
                               threads_text(threads))};
}

}  // namespace

Judgement sequential_is_mostly_best(const Evidence& evidence) {
  int won = 0;
  int lost = 0;
  int open = 0;
  for (const image::Preset& preset : image::presets()) {
    for (const int threads : {1, evidence.all_threads()}) {
      const auto ratio = evidence.against(preset.name, Structure::backward, Structure::sequential, threads);
      if (!ratio) return not_measured;
      const Verdict slower = is_slower(*ratio);
      ++(slower == Verdict::agrees ? won : slower == Verdict::differs ? lost : open);
    }
  }
  const int all = won + lost + open;
  const Verdict verdict = 2 * won > all             ? Verdict::agrees
                          : 2 * (won + open) <= all ? Verdict::differs
                                                    : Verdict::undecided;
  return {verdict, fmt::format("sequential is faster in {} of {} cases, BD in {}, neither in {}", won, all,
                               lost, open)};
}

Judgement a_is_much_slower(const Evidence& evidence) {
  return judge_times(evidence, {"@A"}, bd_of_sequential, evidence.all_threads(), bd_of_sequential_text,
                     [](const MeanInterval& ratio) { return holds(ratio.mean > 1.5); });
}

Judgement bd_wins_d(const Evidence& evidence) {
  Judgement one = judge_times(evidence, {"@D"}, bd_of_sequential, 1, bd_of_sequential_text, is_faster);
  const Judgement all = judge_times(evidence, {"@D"}, bd_of_sequential, evidence.all_threads(),
                                    bd_of_sequential_text, is_faster);
  if (evidence.all_threads() == 1) return one;
  return {together(one.verdict, all.verdict), one.here + "; " + all.here};
}

Judgement bd_wins_g_alone(const Evidence& evidence) {
  return judge_times(evidence, {"@G"}, bd_of_sequential, 1, bd_of_sequential_text, is_faster);
}

Judgement bd_wins_g_together(const Evidence& evidence) {
  if (evidence.all_threads() < 2) return needs(evidence, 2);
  return judge_times(evidence, {"@G"}, bd_of_sequential, evidence.all_threads(), bd_of_sequential_text,
                     is_faster);
}

Judgement bd_wins_d_f_g(const Evidence& evidence) {
  if (evidence.all_threads() < 2) return needs(evidence, 2);
  return judge_times(evidence, {"@D", "@F", "@G"}, bd_of_sequential, evidence.all_threads(),
                     bd_of_sequential_text, is_faster);
}

Judgement store_loses_alone(const Evidence& evidence) {
  return judge_times(evidence, {"@D", "@G"}, store_of_sequential, 1, "BD-STORE over sequential", is_slower);
}

Judgement store_wins_together(const Evidence& evidence) {
  if (evidence.all_threads() < 2) return needs(evidence, 2);
  return judge_times(evidence, {"@D", "@G"}, store_of_sequential, evidence.all_threads(),
                     "BD-STORE over sequential", is_faster);
}

Judgement cached_beats_sequential(const Evidence& evidence) {
  return cached_wins_exactly(evidence, Structure::sequential, "sequential",
                             {"@A", "@B", "@C", "@D", "@E", "@F", "@G"}, {"@B", "@D", "@G"});
}

Judgement cached_beats_bd(const Evidence& evidence) {
  return cached_wins_exactly(evidence, Structure::backward, "BD", {"@B", "@D", "@G"}, {"@B"});
}

Judgement angle_matters(const Evidence& evidence) {
  const int threads = threads_of_fig6(evidence.study.machine);
  const auto b = evidence.against("@B", Structure::backward_cached, Structure::sequential, threads);
  const auto c = evidence.against("@C", Structure::backward_cached, Structure::sequential, threads);
  if (!b || !c) return not_measured;
  const Verdict verdict = b->high < c->low   ? Verdict::agrees
                          : b->low > c->high ? Verdict::differs
                                             : Verdict::undecided;
  return {verdict, fmt::format("6 degrees (B) {}, 60 degrees (C) {}: time of BD-CACHED over sequential, {}",
                               text_of(*b), text_of(*c), threads_text(threads))};
}

}  // namespace millrace::report::judgements
