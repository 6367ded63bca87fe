#include "millrace/report/study/findings.h"

#include "millrace/report/study/judgements.h"

#include <array>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace millrace::report {
namespace {

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
              "at least 0.95 of the number of cores", judgements::perfect},
    Statement{Figure::fig2, "Nehalem, 4 cores", "two threads double the speed",
              "doubles its performance with two threads", "1.8 to 2.2 times", judgements::doubles},
    Statement{Figure::fig2, "Nehalem, 4 cores", "then each core adds less",
              "after two threads the increase in speedup per core diminishes",
              "less than 0.9 of the number of cores", judgements::diminishes},
    Statement{Figure::fig2, "Bulldozer, 8 cores", "3x with four threads",
              "from one to four threads a 3x speedup", "within a tenth of 3", judgements::three_at_four},
    Statement{Figure::fig2, "Bulldozer, 8 cores", "4x with eight threads",
              "only a 4x speedup using all of its eight cores", "within a tenth of 4",
              judgements::four_at_eight},
    Statement{Figure::fig2, "all four", "both structures scale alike",
              "little difference in how the two execution methods scale on physical cores",
              "speed-ups within a tenth of each other", judgements::both_scale_alike},

    Statement{Figure::fig3, "all four", "no perfect scaling on the small clip",
              "none of the four achieves perfect scalability", "less than 0.95 of the number of cores",
              judgements::none_is_perfect},
    Statement{Figure::fig3, "Bulldozer", "two threads are slower than one",
              "the performance worsens going from one to two threads", "less than 1 time the speed",
              judgements::two_are_slower_than_one},
    Statement{Figure::fig3, "Nehalem, Sandy Bridge, Sandy Bridge-E",
              "two threads give nearly twice the speed",
              "from one to two threads, close to twice the performance", "at least 1.8 times",
              judgements::close_to_twice},
    Statement{Figure::fig3, "Nehalem, Sandy Bridge, Sandy Bridge-E", "BD scales better than sequential",
              "the BD mode scales better than sequential", "the interval of the ratio lies above 1",
              judgements::bd_scales_better},

    Statement{Figure::fig4, "all four", "sequential is best in most cases",
              "sequential execution provides best performance in most cases",
              "faster than BD in more than half of the 14 cases", judgements::sequential_is_mostly_best},
    Statement{Figure::fig4, "all four", "BD is much slower on A",
              "much higher BD computation time than sequential for pipeline A (162 reads a pixel against 9)",
              "at least 1.5 times the time", judgements::a_is_much_slower},
    Statement{Figure::fig4, "all but Sandy Bridge-E with 6 cores", "BD is faster on D",
              "better performance for the BD approach on D, both for one and all cores",
              "the interval of the ratio lies below 1", judgements::bd_wins_d},
    Statement{Figure::fig4, "Nehalem, Bulldozer", "BD is faster on G with one thread",
              "for single-threaded execution, pipeline G is faster using BD",
              "the interval of the ratio lies below 1", judgements::bd_wins_g_alone},
    Statement{Figure::fig4, "Sandy Bridge", "BD is faster on G with all cores",
              "using all cores, also Sandy Bridge performs better using BD (Sandy Bridge-E does not)",
              "the interval of the ratio lies below 1", judgements::bd_wins_g_together},
    Statement{Figure::fig4, "Bulldozer", "BD is faster on D, F and G with all cores",
              "for D, F and G BD performs considerably better using all eight cores",
              "the intervals of the ratios lie below 1", judgements::bd_wins_d_f_g},

    Statement{Figure::fig5, "Sandy Bridge", "storing loses with one thread",
              "for a single core, BD-STORE is worse than sequential execution",
              "the intervals of the ratios lie above 1", judgements::store_loses_alone},
    Statement{Figure::fig5, "Sandy Bridge", "storing wins with all threads",
              "with more threads BD-STORE outperforms sequential execution significantly",
              "the intervals of the ratios lie below 1", judgements::store_wins_together},

    Statement{Figure::fig6, "Sandy Bridge, 4 threads", "BD-CACHED beats sequential on B, D and G",
              "BD-CACHED provides better performance than sequential on pipeline B, D and G",
              "on these the interval of the ratio lies below 1, on no other",
              judgements::cached_beats_sequential},
    Statement{Figure::fig6, "Sandy Bridge, 4 threads", "of these it beats BD on B alone",
              "but only B performs better than BD",
              "on B the interval of the ratio lies below 1, not on D and G", judgements::cached_beats_bd},
    Statement{Figure::fig6, "Sandy Bridge, 4 threads", "rotation by 60 degrees gains less than by 6",
              "pipeline C also saves many intermediate pixels, but no similar reduction in time is seen",
              "the ratio of B lies below that of C", judgements::angle_matters},

    Statement{
        Figure::fig7, "Sandy Bridge", "the I/O thread's core makes no difference",
        "no significant difference in processing on the same core as the I/O thread versus a different one",
        "within 0.05 of 1, or 1 lies in the interval", judgements::io_is_all_the_same},
    Statement{Figure::fig7, "Nehalem, Bulldozer", "nor does it with one thread",
              "using one thread, no significant difference in where the processing thread is placed",
              "within 0.05 of 1, or 1 lies in the interval", judgements::io_is_the_same_alone},
    Statement{
        Figure::fig7, "Nehalem", "two threads apart from the I/O thread are slower than one",
        "two threads on different cores than the I/O operations are slower than single threaded execution",
        "the interval of the ratio lies above 1", judgements::two_apart_lose_to_one},
    Statement{Figure::fig7, "Bulldozer", "apart from the I/O thread costs much",
              "with two or more threads IODIFF and MODULEDIFF have a huge negative impact",
              "at least 1.2 times the time", judgements::apart_is_much_slower},
    Statement{Figure::fig7, "Bulldozer", "three threads are slower than two",
              "IOSAME and IODIFF using three threads are slower than IOSAME using two",
              "the interval of the ratio lies above 1", judgements::three_lose_to_two},
    Statement{Figure::fig7, "Bulldozer", "all threads gain little over two",
              "the fastest execution, eight threads, takes 1174 ms, not much faster than two threads",
              "less than 1.2 times as fast", judgements::all_gain_little_over_two},
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
