#include "millrace/report/study/findings.h"
#include "millrace/report/study/structure_map.h"
#include "millrace/report/study/study_page.h"

#include <cmath>
#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace::report {
namespace {

using image::Structure;
using machine::AffinityArrangement;
using testing::ElementsAre;
using testing::HasSubstr;

using Milliseconds = std::function<double(const StudyCase&)>;

// A study in which each case takes the model's time with a small scatter. Below 0: missing.
StudyResult study_of(StudyMachine machine, const Milliseconds& model, double scatter = 0.002) {
  StudyResult study{
      .figures = {all_figures().begin(), all_figures().end()}, .quick = true, .runs = 6, .machine = machine};
  for (const StudyGroup& group : groups_of(study.figures, machine, study.quick)) {
    for (std::size_t s = 0; s < group.schedules.size(); ++s) {
      CaseTimes times{.which = {group.pipeline, group.input, group.schedules[s]}};
      const double ms = model(times.which);
      if (ms < 0)
        times.missing = "too few cores";
      else
        for (int run = 0; run < study.runs; ++run)
          times.ms.push_back(ms * (1 + scatter * std::sin(5.0 * run + 3.0 * static_cast<double>(s))));
      study.cases.push_back(std::move(times));
    }
  }
  return study;
}

StudyMachine machine_of(int threads) { return {.threads = threads, .cores = threads}; }

Finding finding_on(Figure figure, std::string_view topic, const StudyResult& study) {
  for (const Finding& finding : findings_of(figure, study)) {
    if (finding.topic == topic) return finding;
  }
  ADD_FAILURE() << "no finding on " << topic;
  return {};
}
Verdict verdict_on(Figure figure, std::string_view topic, const StudyResult& study) {
  return finding_on(figure, topic, study).anew.verdict;
}

double linear(const StudyCase& c) { return 12.0 / c.schedule.threads; }

TEST(Findings, perfect_scaling_is_seen_where_it_is_and_not_where_it_is_not) {
  const auto perfect = study_of(machine_of(4), linear);
  EXPECT_EQ(verdict_on(Figure::fig2, "perfect scaling", perfect), Verdict::agrees);
  EXPECT_EQ(verdict_on(Figure::fig2, "two threads double the speed", perfect), Verdict::agrees);
  EXPECT_EQ(verdict_on(Figure::fig2, "then each core adds less", perfect), Verdict::differs);
  EXPECT_EQ(verdict_on(Figure::fig3, "no perfect scaling on the small clip", perfect), Verdict::differs);
  const auto poor =
      study_of(machine_of(4), [](const StudyCase& c) { return c.schedule.threads == 1 ? 10.0 : 12.0; });
  EXPECT_EQ(verdict_on(Figure::fig2, "perfect scaling", poor), Verdict::differs);
  EXPECT_EQ(verdict_on(Figure::fig3, "two threads are slower than one", poor), Verdict::agrees);
}

TEST(Findings, figures_in_the_sentences_are_the_measured_ones) {
  const auto study = study_of(machine_of(2), linear);
  EXPECT_THAT(finding_on(Figure::fig2, "perfect scaling", study).anew.here,
              testing::AllOf(HasSubstr("sequential 2.0"), HasSubstr("BD 2.0"), HasSubstr("2 threads")));
}

// The text's statements on Bulldozer, as a model. They then hold, whatever the other statements do.
TEST(Findings, a_machine_like_bulldozer_agrees_with_what_the_paper_says_of_it) {
  StudyMachine bulldozer = machine_of(8);
  bulldozer.modules = true;
  const auto study = study_of(bulldozer, [](const StudyCase& c) {
    const int n = c.schedule.threads;
    if (c.input == tractor) return 100.0 / (n <= 4 ? 1 + 2.0 * (n - 1) / 3 : 3 + 0.25 * (n - 4));
    if (c.schedule.affinity != AffinityArrangement::free) {
      const bool apart = c.schedule.affinity == AffinityArrangement::io_diff ||
                         c.schedule.affinity == AffinityArrangement::module_diff;
      if (n == 1) return 8.0;
      return (apart ? 9.0 : 5.0) + (n == 3 ? 1.0 : 0.0) - (n == 8 ? 0.5 : 0.0);
    }
    const double slow_start = n > 1 ? 1.1 : 1.0;
    if (c.schedule.structure == Structure::backward)
      return 8 * slow_start * (c.pipeline == "@D" || c.pipeline == "@F" || c.pipeline == "@G" ? 0.7 : 1.6);
    return 8 * slow_start;
  });
  for (const Figure figure : {Figure::fig2, Figure::fig3, Figure::fig4, Figure::fig7}) {
    for (const Finding& finding : findings_of(figure, study)) {
      if (finding.machines.find("Bulldozer") == std::string_view::npos) continue;
      EXPECT_EQ(finding.anew.verdict, Verdict::agrees) << finding.topic << ": " << finding.anew.here;
    }
  }
}

TEST(Findings, storing_and_caching_are_judged_by_pipeline) {
  const auto study = study_of(machine_of(4), [](const StudyCase& c) {
    const bool alone = c.schedule.threads == 1;
    switch (c.schedule.structure) {
    case Structure::backward_store:
      return alone ? 11.0 : 2.0;
    case Structure::backward_cached:
      return c.pipeline == "@B" ? 2.0 : c.pipeline == "@D" || c.pipeline == "@G" ? 2.4 : 4.0;
    case Structure::backward:
      return alone ? 9.0 : 2.2;
    default:
      return alone ? 10.0 : 3.0;
    }
  });
  EXPECT_EQ(verdict_on(Figure::fig5, "storing loses with one thread", study), Verdict::agrees);
  EXPECT_EQ(verdict_on(Figure::fig5, "storing wins with all threads", study), Verdict::agrees);
  EXPECT_EQ(verdict_on(Figure::fig6, "BD-CACHED beats sequential on B, D and G", study), Verdict::agrees);
  EXPECT_EQ(verdict_on(Figure::fig6, "of these it beats BD on B alone", study), Verdict::agrees);
  EXPECT_EQ(verdict_on(Figure::fig6, "rotation by 60 degrees gains less than by 6", study), Verdict::agrees);
  const auto other = study_of(machine_of(4), linear);
  EXPECT_EQ(verdict_on(Figure::fig5, "storing loses with one thread", other), Verdict::undecided);
  EXPECT_EQ(verdict_on(Figure::fig6, "BD-CACHED beats sequential on B, D and G", other), Verdict::undecided);
}

TEST(Findings, wide_intervals_leave_it_open) {
  const auto study = study_of(
      machine_of(2),
      [](const StudyCase& c) { return c.schedule.structure == Structure::backward ? 9.9 : 10.0; }, 0.5);
  EXPECT_EQ(verdict_on(Figure::fig4, "BD is faster on D", study), Verdict::undecided);
}

TEST(Findings, what_the_machine_cannot_do_is_said_to_be_so) {
  const auto study = study_of(machine_of(2), [](const StudyCase& c) {
    return c.schedule.affinity == AffinityArrangement::io_diff && c.schedule.threads > 1 ? -1.0 : linear(c);
  });
  EXPECT_EQ(verdict_on(Figure::fig2, "4x with eight threads", study), Verdict::not_here);
  const Finding apart = finding_on(Figure::fig7, "apart from the I/O thread costs much", study);
  EXPECT_EQ(apart.anew.verdict, Verdict::not_here);
  EXPECT_THAT(apart.anew.here, HasSubstr("too few cores"));
  EXPECT_EQ(verdict_on(Figure::fig7, "nor does it with one thread", study), Verdict::agrees);
}

TEST(Findings, a_pool_that_comes_out_otherwise_is_named_in_the_summary) {
  const auto study = study_of(machine_of(2), [](const StudyCase& c) {
    return c.input == tractor ? (c.schedule.fresh_threads ? 11.0 : linear(c)) : 10.0;
  });
  const Finding finding = finding_on(Figure::fig2, "perfect scaling", study);
  EXPECT_EQ(finding.anew.verdict, Verdict::differs);
  EXPECT_EQ(finding.pool.verdict, Verdict::agrees);
  const std::string summary = summary_of(findings_of(Figure::fig2, study));
  EXPECT_THAT(summary, HasSubstr("Differs: perfect scaling"));
  EXPECT_THAT(summary, HasSubstr("With the threads of a pool it comes out otherwise: perfect scaling"));
}

class Threads : public testing::TestWithParam<int> {};

TEST_P(Threads, every_figure_has_its_findings_on_any_machine_and_each_says_something) {
  for (const double value : {1.0, -1.0}) {
    const auto study = study_of(machine_of(GetParam()), [&](const StudyCase&) { return value; });
    for (const Figure figure : all_figures()) {
      const auto findings = findings_of(figure, study);
      EXPECT_EQ(findings.empty(), figure == Figure::map);
      for (const Finding& finding : findings) {
        for (const Judgement* judgement : {&finding.anew, &finding.pool}) {
          EXPECT_FALSE(judgement->here.empty()) << finding.topic;
          EXPECT_TRUE(value > 0 || judgement->verdict == Verdict::not_here) << finding.topic;
        }
      }
    }
    const std::string page = study_page(study);
    EXPECT_EQ(page.find("nan"), std::string::npos);
    EXPECT_TRUE(page.ends_with("</html>\n"));
    EXPECT_EQ(to_json(study)["figures"].size(), all_figures().size());
  }
}

INSTANTIATE_TEST_SUITE_P(Findings, Threads, testing::Values(1, 2, 3, 8, 40));

TEST(StructureMapTest, the_fastest_is_found_and_crossings_are_named) {
  // Tiles win on the larger frames, backward if there is little computation.
  const auto study = study_of(machine_of(1), [](const StudyCase& c) {
    const bool large = c.input.find("96x64") != std::string::npos;
    const bool much = c.pipeline.find("discretise(248)") != std::string::npos;
    switch (c.schedule.structure) {
    case Structure::sequential:
      return 4.0;
    case Structure::backward:
      return much ? 5.0 : 1.0;
    case Structure::tiled:
      return large ? 2.0 : 6.0;
    default:
      return 9.0;
    }
  });
  const StructureMap map = structure_map(study, 1);
  ASSERT_EQ(map.axes.sizes.size(), 2U);
  EXPECT_EQ(map.entries[0][0]->best, Structure::backward);
  EXPECT_NEAR(map.entries[0][0]->sequential.mean, 4, 0.05);
  EXPECT_FALSE(map.entries[0][0]->tied);
  EXPECT_EQ(map.entries[1][0]->best, Structure::sequential);
  EXPECT_EQ(map.entries[1][1]->best, Structure::tiled);
  EXPECT_NEAR(map.entries[1][1]->second.mean, 2, 0.05);
  EXPECT_THAT(crossings(map), ElementsAre("48x32: backward up to 3 operations a pixel, sequential from 6 on",
                                          "96x64: backward up to 3 operations a pixel, tiled from 6 on"));
}

TEST(StructureMapTest, what_is_as_good_is_a_tie) {
  const auto study = study_of(machine_of(1), [](const StudyCase&) { return 3.0; }, 0);
  const StructureMap map = structure_map(study, 1);
  EXPECT_TRUE(map.entries[0][0]->tied);
  EXPECT_EQ(map.entries[0][0]->as_good.size(), map_structures().size());
  EXPECT_THAT(crossings(map).front(),
              "48x32: sequential or backward or backward-cached or tiled or sliding throughout");
}

}  // namespace
}  // namespace millrace::report
