// Figure 7: placement of threads.
#include "millrace/report/study/judgements.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace millrace::report::judgements {
namespace {

using image::Structure;
using machine::AffinityArrangement;

std::optional<MeanInterval> affinity_ratio(const Evidence& evidence,
                                           std::pair<AffinityArrangement, int> dividend,
                                           std::pair<AffinityArrangement, int> divisor) {
  return evidence.study.ratio(
      evidence.at("@B", foreman, Structure::sequential, dividend.second, dividend.first),
      evidence.at("@B", foreman, Structure::sequential, divisor.second, divisor.first));
}

// The judgement for an unavailable affinity, with the planner's reason.
Judgement impossible(const Evidence& evidence, AffinityArrangement affinity, int threads) {
  if (threads > evidence.all_threads()) return needs(evidence, threads);
  const CaseTimes* const found =
      evidence.study.find(evidence.at("@B", foreman, Structure::sequential, threads, affinity));
  return found == nullptr || found->missing.empty() ? not_measured
                                                    : Judgement{Verdict::not_here, found->missing};
}

}  // namespace

Judgement io_is_all_the_same(const Evidence& evidence) {
  Judgement judgement{Verdict::not_here, ""};
  for (const int threads : thread_counts(evidence.study.machine)) {
    const auto ratio = affinity_ratio(evidence, {AffinityArrangement::io_diff, threads},
                                      {AffinityArrangement::io_same, threads});
    if (!ratio) continue;
    const Verdict verdict = holds(is_same(*ratio));
    judgement.verdict = judgement.here.empty() ? verdict : together(judgement.verdict, verdict);
    judgement.here +=
        fmt::format("{}{} {}", judgement.here.empty() ? "" : "; ", threads_text(threads), text_of(*ratio));
  }
  if (judgement.here.empty()) return impossible(evidence, AffinityArrangement::io_diff, 1);
  judgement.here += ": time of io-diff over io-same";
  return judgement;
}

Judgement io_is_the_same_alone(const Evidence& evidence) {
  const auto ratio =
      affinity_ratio(evidence, {AffinityArrangement::io_diff, 1}, {AffinityArrangement::io_same, 1});
  if (!ratio) return impossible(evidence, AffinityArrangement::io_diff, 1);
  return {holds(is_same(*ratio)), fmt::format("time of io-diff over io-same {}", text_of(*ratio))};
}

Judgement two_apart_lose_to_one(const Evidence& evidence) {
  const auto ratio =
      affinity_ratio(evidence, {AffinityArrangement::io_diff, 2}, {AffinityArrangement::io_diff, 1});
  if (!ratio) return impossible(evidence, AffinityArrangement::io_diff, 2);
  return {is_slower(*ratio), fmt::format("time of two threads over one, io-diff, {}", text_of(*ratio))};
}

Judgement apart_is_much_slower(const Evidence& evidence) {
  const AffinityArrangement apart =
      evidence.study.machine.modules ? AffinityArrangement::module_diff : AffinityArrangement::io_diff;
  const auto ratio = affinity_ratio(evidence, {apart, 2}, {AffinityArrangement::io_same, 2});
  if (!ratio) return impossible(evidence, apart, 2);
  return {holds(ratio->mean > 1.2),
          fmt::format("time of {} over io-same {}, 2 threads", machine::name_of(apart), text_of(*ratio))};
}

Judgement three_lose_to_two(const Evidence& evidence) {
  const auto ratio =
      affinity_ratio(evidence, {AffinityArrangement::io_same, 3}, {AffinityArrangement::io_same, 2});
  if (!ratio) return impossible(evidence, AffinityArrangement::io_same, 3);
  return {is_slower(*ratio), fmt::format("time of three threads over two, io-same, {}", text_of(*ratio))};
}

Judgement all_gain_little_over_two(const Evidence& evidence) {
  const int threads = evidence.all_threads();
  if (threads < 3) return needs(evidence, 3);
  const auto ratio =
      affinity_ratio(evidence, {AffinityArrangement::io_same, 2}, {AffinityArrangement::io_same, threads});
  if (!ratio) return impossible(evidence, AffinityArrangement::io_same, threads);
  return {holds(ratio->mean < 1.2),
          fmt::format("{} are {} times as fast as two, io-same", threads_text(threads), text_of(*ratio))};
}

}  // namespace millrace::report::judgements
