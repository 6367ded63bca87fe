// Figures 2 and 3: scaling of @B.
#include "millrace/report/study/judgements.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace millrace::report::judgements {
namespace {

using image::Structure;
using machine::AffinityArrangement;

// Judges both structures with this many threads by held(speed-up).
template <class Held>
Judgement judge_scaling(const Evidence& evidence, std::string_view input, int threads, const Held& held) {
  if (evidence.all_threads() < threads || threads < 2) return needs(evidence, std::max(threads, 2));
  Judgement judgement{Verdict::agrees, ""};
  for (const auto& [structure, name] :
       {std::pair{Structure::sequential, "sequential"}, {Structure::backward, "BD"}}) {
    const auto speedup = evidence.speedup(input, structure, threads);
    if (!speedup) return not_measured;
    judgement.verdict = together(judgement.verdict, holds(held(speedup->mean)));
    judgement.here += fmt::format("{}{} {}", judgement.here.empty() ? "" : "; ", name, text_of(*speedup));
  }
  judgement.here += fmt::format(" times the speed, {}", threads_text(threads));
  return judgement;
}

// The speed-up of BD over that of sequential.
std::optional<MeanInterval> scaling_of_bd(const Evidence& evidence, std::string_view input, int threads) {
  const auto bd = evidence.speedup(input, Structure::backward, threads);
  const auto sequential = evidence.speedup(input, Structure::sequential, threads);
  if (!bd || !sequential) return std::nullopt;
  const StudyResult& study = evidence.study;
  const auto& bd_1 = study.find(evidence.at("@B", input, Structure::backward, 1))->ms;
  const auto& bd_n = study.find(evidence.at("@B", input, Structure::backward, threads))->ms;
  const auto& seq_1 = study.find(evidence.at("@B", input, Structure::sequential, 1))->ms;
  const auto& seq_n = study.find(evidence.at("@B", input, Structure::sequential, threads))->ms;
  std::vector<double> of_bd;
  std::vector<double> of_sequential;
  for (std::size_t i = 0; i < bd_1.size(); ++i) {
    of_bd.push_back(bd_1[i] / bd_n[i]);
    of_sequential.push_back(seq_1[i] / seq_n[i]);
  }
  return ratio_interval(of_bd, of_sequential);
}

}  // namespace

Judgement perfect(const Evidence& evidence) {
  const int cores = evidence.study.machine.cores;
  return judge_scaling(evidence, tractor, cores, [&](double s) { return s >= 0.95 * cores; });
}

Judgement doubles(const Evidence& evidence) {
  return judge_scaling(evidence, tractor, 2, [](double s) { return s >= 1.8 && s <= 2.2; });
}

Judgement diminishes(const Evidence& evidence) {
  const int threads = evidence.study.machine.cores;
  if (threads < 3) return needs(evidence, 3);
  return judge_scaling(evidence, tractor, threads, [&](double s) { return s < 0.9 * threads; });
}

Judgement three_at_four(const Evidence& evidence) {
  return judge_scaling(evidence, tractor, 4, [](double s) { return s > 2.7 && s < 3.3; });
}

Judgement four_at_eight(const Evidence& evidence) {
  return judge_scaling(evidence, tractor, 8, [](double s) { return s > 3.6 && s < 4.4; });
}

Judgement both_scale_alike(const Evidence& evidence) {
  const int threads = evidence.study.machine.cores;
  if (threads < 2) return needs(evidence, 2);
  const auto ratio = scaling_of_bd(evidence, tractor, threads);
  if (!ratio) return not_measured;
  return {holds(ratio->mean > 0.9 && ratio->mean < 1.1),
          fmt::format("the speed-up of BD is {} times that of sequential, {}", text_of(*ratio),
                      threads_text(threads))};
}

Judgement none_is_perfect(const Evidence& evidence) {
  const int cores = evidence.study.machine.cores;
  return judge_scaling(evidence, foreman, cores, [&](double s) { return s < 0.95 * cores; });
}

Judgement two_are_slower_than_one(const Evidence& evidence) {
  return judge_scaling(evidence, foreman, 2, [](double s) { return s < 1; });
}

Judgement close_to_twice(const Evidence& evidence) {
  return judge_scaling(evidence, foreman, 2, [](double s) { return s >= 1.8; });
}

Judgement bd_scales_better(const Evidence& evidence) {
  const int threads = evidence.all_threads();
  if (threads < 2) return needs(evidence, 2);
  const auto ratio = scaling_of_bd(evidence, foreman, threads);
  if (!ratio) return not_measured;
  return {is_slower(*ratio),  // above 1
          fmt::format("the speed-up of BD is {} times that of sequential, {}", text_of(*ratio),
                      threads_text(threads))};
}

}  // namespace millrace::report::judgements
