#include "millrace/report/study/findings.h"

#include "millrace/image/pipeline/presets.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace millrace::report {
namespace {

using image::Structure;
using machine::AffinityArrangement;

// What a statement is judged by: the study, seen through one kind of team.
struct Evidence {
  const StudyResult& study;
  Team team;

  [[nodiscard]] int all_threads() const { return study.machine.threads; }
  [[nodiscard]] StudyCase at(std::string_view pipeline, std::string_view input, Structure structure,
                             int threads, AffinityArrangement affinity = AffinityArrangement::free) const {
    return {std::string(pipeline), std::string(input),
            paper_schedule(study.machine, structure, threads, team, affinity)};
  }
  // Of @B: how many times the speed of one thread.
  [[nodiscard]] std::optional<MeanInterval> speedup(std::string_view input, Structure structure,
                                                    int threads) const {
    return study.ratio(at("@B", input, structure, 1), at("@B", input, structure, threads));
  }
  // On foreman: time of the one, of the other's.
  [[nodiscard]] std::optional<MeanInterval> against(std::string_view pipeline, Structure one, Structure other,
                                                    int threads) const {
    return study.ratio(at(pipeline, foreman, one, threads), at(pipeline, foreman, other, threads));
  }
};

std::string text_of(const MeanInterval& value) {
  return fmt::format("{:.2f} ({:.2f} to {:.2f})", value.mean, value.low, value.high);
}

std::string threads_text(int threads) { return fmt::format("{} thread{}", threads, threads == 1 ? "" : "s"); }

Judgement needs(const Evidence& evidence, int threads) {
  return {Verdict::not_here,
          fmt::format("takes {}; {} may be used here", threads_text(threads), evidence.all_threads())};
}

const Judgement not_measured{Verdict::not_here, "not measured"};

// Of several judgements on one statement: it holds where each part does.
Verdict together(Verdict a, Verdict b) {
  for (const Verdict worst : {Verdict::differs, Verdict::undecided, Verdict::not_here}) {
    if (a == worst || b == worst) return worst;
  }
  return Verdict::agrees;
}

Verdict holds(bool held) { return held ? Verdict::agrees : Verdict::differs; }
// Whether a ratio of times is below 1, as far as its interval tells.
Verdict is_faster(const MeanInterval& ratio) {
  if (ratio.high < 1) return Verdict::agrees;
  return ratio.low > 1 ? Verdict::differs : Verdict::undecided;
}
Verdict is_slower(const MeanInterval& ratio) {
  if (ratio.low > 1) return Verdict::agrees;
  return ratio.high < 1 ? Verdict::differs : Verdict::undecided;
}
// A twentieth counts for nothing, whatever the interval.
bool is_same(const MeanInterval& ratio) {
  return (ratio.low <= 1 && ratio.high >= 1) || (ratio.mean > 0.95 && ratio.mean < 1.05);
}

// --- Figures 2 and 3: scaling of @B

// Both structures with this many threads; held(speed-up).
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

// --- Figures 4 to 6: structures on the smaller clip

// The time of one structure over another's on each of some pipelines.
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

constexpr std::pair store_of_sequential{Structure::backward_store, Structure::sequential};

Judgement store_loses_alone(const Evidence& evidence) {
  return judge_times(evidence, {"@D", "@G"}, store_of_sequential, 1, "BD-STORE over sequential", is_slower);
}

Judgement store_wins_together(const Evidence& evidence) {
  if (evidence.all_threads() < 2) return needs(evidence, 2);
  return judge_times(evidence, {"@D", "@G"}, store_of_sequential, evidence.all_threads(),
                     "BD-STORE over sequential", is_faster);
}

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
    // Where it did not win there, it may be as fast here.
    const Verdict here = wins_there        ? is_faster(*ratio)
                         : ratio->high < 1 ? Verdict::differs
                                           : Verdict::agrees;
    verdict = together(verdict, here);
    ratios.push_back(fmt::format("{} {}", pipeline.substr(1), text_of(*ratio)));
  }
  return {verdict, fmt::format("{}: time of BD-CACHED over {}, {}", fmt::join(ratios, "; "), name,
                               threads_text(threads))};
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

// --- Figure 7: where threads run

std::optional<MeanInterval> affinity_ratio(const Evidence& evidence,
                                           std::pair<AffinityArrangement, int> dividend,
                                           std::pair<AffinityArrangement, int> divisor) {
  return evidence.study.ratio(
      evidence.at("@B", foreman, Structure::sequential, dividend.second, dividend.first),
      evidence.at("@B", foreman, Structure::sequential, divisor.second, divisor.first));
}

// Why the first of these cannot be judged: what the planner said of it.
Judgement impossible(const Evidence& evidence, AffinityArrangement affinity, int threads) {
  if (threads > evidence.all_threads()) return needs(evidence, threads);
  const CaseTimes* const found =
      evidence.study.find(evidence.at("@B", foreman, Structure::sequential, threads, affinity));
  return found == nullptr || found->missing.empty() ? not_measured
                                                    : Judgement{Verdict::not_here, found->missing};
}

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

// --- What the paper says

struct Statement {
  Figure figure;
  std::string_view machines;
  std::string_view topic;
  std::string_view paper;
  std::string_view taken_as;
  Judgement (*judge)(const Evidence&);
};

constexpr std::array statements{
    Statement{Figure::fig2, "Sandy Bridge, 4 cores", "perfect scaling",
              "scales perfectly with the number of physical cores (the only one that does)",
              "at least 0.95 of the number of cores", perfect},
    Statement{Figure::fig2, "Nehalem, 4 cores", "two threads double the speed",
              "doubles its performance with two threads", "1.8 to 2.2 times", doubles},
    Statement{Figure::fig2, "Nehalem, 4 cores", "then each core adds less",
              "after two threads the increase in speedup per core diminishes",
              "less than 0.9 of the number of cores", diminishes},
    Statement{Figure::fig2, "Bulldozer, 8 cores", "3x with four threads",
              "from one to four threads a 3x speedup", "within a tenth of 3", three_at_four},
    Statement{Figure::fig2, "Bulldozer, 8 cores", "4x with eight threads",
              "only a 4x speedup using all of its eight cores", "within a tenth of 4", four_at_eight},
    Statement{Figure::fig2, "all four", "both structures scale alike",
              "little difference in how the two execution methods scale on physical cores",
              "speed-ups within a tenth of each other", both_scale_alike},

    Statement{Figure::fig3, "all four", "no perfect scaling on the small clip",
              "none of the four achieves perfect scalability", "less than 0.95 of the number of cores",
              none_is_perfect},
    Statement{Figure::fig3, "Bulldozer", "two threads are slower than one",
              "the performance worsens going from one to two threads", "less than 1 time the speed",
              two_are_slower_than_one},
    Statement{
        Figure::fig3, "Nehalem, Sandy Bridge, Sandy Bridge-E", "two threads give nearly twice the speed",
        "from one to two threads, close to twice the performance", "at least 1.8 times", close_to_twice},
    Statement{Figure::fig3, "Nehalem, Sandy Bridge, Sandy Bridge-E", "BD scales better than sequential",
              "the BD mode scales better than sequential", "the interval of the ratio lies above 1",
              bd_scales_better},

    Statement{Figure::fig4, "all four", "sequential is best in most cases",
              "sequential execution provides best performance in most cases",
              "faster than BD in more than half of the 14 cases", sequential_is_mostly_best},
    Statement{Figure::fig4, "all four", "BD is much slower on A",
              "much higher BD computation time than sequential for pipeline A (162 reads a pixel against 9)",
              "at least 1.5 times the time", a_is_much_slower},
    Statement{Figure::fig4, "all but Sandy Bridge-E with 6 cores", "BD is faster on D",
              "better performance for the BD approach on D, both for one and all cores",
              "the interval of the ratio lies below 1", bd_wins_d},
    Statement{Figure::fig4, "Nehalem, Bulldozer", "BD is faster on G with one thread",
              "for single-threaded execution, pipeline G is faster using BD",
              "the interval of the ratio lies below 1", bd_wins_g_alone},
    Statement{Figure::fig4, "Sandy Bridge", "BD is faster on G with all cores",
              "using all cores, also Sandy Bridge performs better using BD (Sandy Bridge-E does not)",
              "the interval of the ratio lies below 1", bd_wins_g_together},
    Statement{Figure::fig4, "Bulldozer", "BD is faster on D, F and G with all cores",
              "for D, F and G BD performs considerably better using all eight cores",
              "the intervals of the ratios lie below 1", bd_wins_d_f_g},

    Statement{Figure::fig5, "Sandy Bridge", "storing loses with one thread",
              "for a single core, BD-STORE is worse than sequential execution",
              "the intervals of the ratios lie above 1", store_loses_alone},
    Statement{Figure::fig5, "Sandy Bridge", "storing wins with all threads",
              "with more threads BD-STORE outperforms sequential execution significantly",
              "the intervals of the ratios lie below 1", store_wins_together},

    Statement{Figure::fig6, "Sandy Bridge, 4 threads", "BD-CACHED beats sequential on B, D and G",
              "BD-CACHED provides better performance than sequential on pipeline B, D and G",
              "on these the interval of the ratio lies below 1, on no other", cached_beats_sequential},
    Statement{Figure::fig6, "Sandy Bridge, 4 threads", "of these it beats BD on B alone",
              "but only B performs better than BD",
              "on B the interval of the ratio lies below 1, not on D and G", cached_beats_bd},
    Statement{Figure::fig6, "Sandy Bridge, 4 threads", "rotation by 60 degrees gains less than by 6",
              "pipeline C also saves many intermediate pixels, but no similar reduction in time is seen",
              "the ratio of B lies below that of C", angle_matters},

    Statement{
        Figure::fig7, "Sandy Bridge", "the I/O thread's core makes no difference",
        "no significant difference in processing on the same core as the I/O thread versus a different one",
        "within 0.05 of 1, or 1 lies in the interval", io_is_all_the_same},
    Statement{Figure::fig7, "Nehalem, Bulldozer", "nor does it with one thread",
              "using one thread, no significant difference in where the processing thread is placed",
              "within 0.05 of 1, or 1 lies in the interval", io_is_the_same_alone},
    Statement{
        Figure::fig7, "Nehalem", "two threads apart from the I/O thread are slower than one",
        "two threads on different cores than the I/O operations are slower than single threaded execution",
        "the interval of the ratio lies above 1", two_apart_lose_to_one},
    Statement{Figure::fig7, "Bulldozer", "apart from the I/O thread costs much",
              "with two or more threads IODIFF and MODULEDIFF have a huge negative impact",
              "at least 1.2 times the time", apart_is_much_slower},
    Statement{Figure::fig7, "Bulldozer", "three threads are slower than two",
              "IOSAME and IODIFF using three threads are slower than IOSAME using two",
              "the interval of the ratio lies above 1", three_lose_to_two},
    Statement{Figure::fig7, "Bulldozer", "all threads gain little over two",
              "the fastest execution, eight threads, takes 1174 ms, not much faster than two threads",
              "less than 1.2 times as fast", all_gain_little_over_two},
};

}  // namespace

std::string_view name_of(Verdict verdict) {
  switch (verdict) {
  case Verdict::agrees:
    return "agrees";
  case Verdict::differs:
    return "differs";
  case Verdict::undecided:
    return "open";
  case Verdict::not_here:
    break;
  }
  return "not here";
}

std::vector<Finding> findings_of(Figure figure, const StudyResult& study) {
  std::vector<Finding> findings;
  for (const Statement& statement : statements) {
    if (statement.figure != figure) continue;
    findings.push_back({.machines = statement.machines,
                        .topic = statement.topic,
                        .paper = statement.paper,
                        .taken_as = statement.taken_as,
                        .anew = statement.judge({study, Team::anew}),
                        .pool = statement.judge({study, Team::pool})});
  }
  return findings;
}

std::string summary_of(const std::vector<Finding>& findings) {
  std::string text;
  for (const auto& [verdict, words] : {std::pair{Verdict::agrees, "Agrees here"},
                                       {Verdict::differs, "Differs"},
                                       {Verdict::undecided, "Open, as the intervals are too wide"},
                                       {Verdict::not_here, "Cannot be seen on this machine"}}) {
    std::vector<std::string> topics;
    for (const Finding& finding : findings) {
      if (finding.anew.verdict == verdict)
        topics.push_back(fmt::format("{} ({})", finding.topic, finding.machines));
    }
    if (!topics.empty())
      text += fmt::format("{}{}: {}.", text.empty() ? "" : " ", words, fmt::join(topics, "; "));
  }
  std::vector<std::string_view> changed;
  for (const Finding& finding : findings) {
    if (finding.pool.verdict != finding.anew.verdict) changed.push_back(finding.topic);
  }
  if (!changed.empty())
    text += fmt::format(" With the threads of a pool it comes out otherwise: {}.", fmt::join(changed, "; "));
  return text;
}

}  // namespace millrace::report
