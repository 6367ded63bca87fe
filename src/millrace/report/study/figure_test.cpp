#include "millrace/image/pipeline/presets.h"
#include "millrace/report/study/figure.h"

#include <algorithm>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace::report {
namespace {

using image::Structure;
using machine::AffinityArrangement;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::UnorderedElementsAre;

StudyMachine cores_of(int threads) { return {.threads = threads, .cores = threads}; }

template <class Of> auto set_of(const std::vector<StudyCase>& cases, const Of& of) {
  std::set<decltype(of(cases.front()))> found;
  for (const StudyCase& each : cases)
    found.insert(of(each));
  return found;
}
auto pipelines(const std::vector<StudyCase>& cases) {
  return set_of(cases, [](const StudyCase& c) { return c.pipeline; });
}
auto inputs(const std::vector<StudyCase>& cases) {
  return set_of(cases, [](const StudyCase& c) { return c.input; });
}
auto structures(const std::vector<StudyCase>& cases) {
  return set_of(cases, [](const StudyCase& c) { return c.schedule.structure; });
}
auto threads(const std::vector<StudyCase>& cases) {
  return set_of(cases, [](const StudyCase& c) { return c.schedule.threads; });
}
auto affinities(const std::vector<StudyCase>& cases) {
  return set_of(cases, [](const StudyCase& c) { return c.schedule.affinity; });
}

TEST(Figures, are_named_in_any_order_and_each_counts_once) {
  EXPECT_THAT(parse_figures(std::vector<std::string>{"fig7", "fig2", "fig7"}).value(),
              ElementsAre(Figure::fig2, Figure::fig7));
  const auto all = parse_figures(std::vector<std::string>{"fig3", "all"}).value();
  EXPECT_EQ(all.size(), all_figures().size());
  for (const Figure figure : all_figures())
    EXPECT_THAT(parse_figures(std::vector{std::string(name_of(figure))}).value(), ElementsAre(figure));
  const auto wrong = parse_figures(std::vector<std::string>{"fig8"});
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().kind, ErrorKind::usage);
  EXPECT_THAT(wrong.error().message, HasSubstr("millrace study list"));
}

// Sections IV to VII of the paper, on its machine with 8 cores.
TEST(FigureCases, are_those_of_the_paper) {
  const StudyMachine machine = cores_of(8);
  const auto fig2 = cases_of(Figure::fig2, machine, false);
  EXPECT_THAT(pipelines(fig2), ElementsAre("@B"));
  EXPECT_THAT(inputs(fig2), ElementsAre("tractor"));
  EXPECT_THAT(structures(fig2), ElementsAre(Structure::sequential, Structure::backward));
  EXPECT_THAT(threads(fig2), ElementsAre(1, 2, 3, 4, 5, 6, 7, 8));
  EXPECT_THAT(inputs(cases_of(Figure::fig3, machine, false)), ElementsAre("foreman"));

  const auto fig4 = cases_of(Figure::fig4, machine, false);
  EXPECT_EQ(pipelines(fig4).size(), 7U);
  EXPECT_THAT(threads(fig4), ElementsAre(1, 8));
  EXPECT_THAT(structures(fig4), ElementsAre(Structure::sequential, Structure::backward));

  const auto fig5 = cases_of(Figure::fig5, machine, false);
  EXPECT_THAT(pipelines(fig5), ElementsAre("@D", "@G"));
  EXPECT_THAT(structures(fig5),
              ElementsAre(Structure::sequential, Structure::backward, Structure::backward_store));

  const auto fig6 = cases_of(Figure::fig6, machine, false);
  EXPECT_THAT(threads(fig6), ElementsAre(1, 4)) << "the baseline and the paper's four";
  EXPECT_THAT(structures(fig6),
              ElementsAre(Structure::sequential, Structure::backward, Structure::backward_cached));

  const auto fig7 = cases_of(Figure::fig7, machine, false);
  EXPECT_THAT(pipelines(fig7), ElementsAre("@B"));
  EXPECT_THAT(structures(fig7), ElementsAre(Structure::sequential));
  EXPECT_THAT(affinities(fig7),
              UnorderedElementsAre(AffinityArrangement::io_same, AffinityArrangement::io_diff,
                                   AffinityArrangement::pinned));
  StudyMachine bulldozer = machine;
  bulldozer.modules = true;
  EXPECT_TRUE(
      affinities(cases_of(Figure::fig7, bulldozer, false)).contains(AffinityArrangement::module_diff));
}

class OnMachines : public testing::TestWithParam<int> {};

TEST_P(OnMachines, every_case_is_there_once_fits_and_names_a_pipeline) {
  const StudyMachine machine = cores_of(GetParam());
  for (const Figure figure : all_figures()) {
    const auto cases = cases_of(figure, machine, true);
    EXPECT_FALSE(cases.empty());
    for (auto each = cases.begin(); each != cases.end(); ++each) {
      EXPECT_EQ(std::find(each + 1, cases.end(), *each), cases.end());
      EXPECT_TRUE(image::load_pipeline(each->pipeline)) << each->pipeline;
      EXPECT_LE(each->schedule.threads, machine.threads);
      EXPECT_FALSE(each->schedule.threads == 1 && each->schedule.fresh_threads) << "there is none to make";
    }
  }
}

TEST_P(OnMachines, thread_counts_begin_with_1_and_end_with_all) {
  const auto counts = thread_counts(cores_of(GetParam()));
  EXPECT_EQ(counts.front(), 1);
  EXPECT_EQ(counts.back(), GetParam());
  EXPECT_TRUE(std::ranges::is_sorted(counts));
  EXPECT_LE(counts.size(), 30U);
  for (int count = 1; count <= std::min(8, GetParam()); ++count)
    EXPECT_TRUE(std::ranges::binary_search(counts, count));
}

TEST_P(OnMachines, groups_hold_every_case_once) {
  const StudyMachine machine = cores_of(GetParam());
  std::vector<StudyCase> grouped;
  for (const StudyGroup& group : groups_of(all_figures(), machine, false)) {
    for (const image::Schedule& schedule : group.schedules)
      grouped.push_back({group.pipeline, group.input, schedule});
  }
  for (auto each = grouped.begin(); each != grouped.end(); ++each)
    EXPECT_EQ(std::find(each + 1, grouped.end(), *each), grouped.end());
  for (const Figure figure : all_figures()) {
    for (const StudyCase& each : cases_of(figure, machine, false))
      EXPECT_NE(std::ranges::find(grouped, each), grouped.end());
  }
}

INSTANTIATE_TEST_SUITE_P(Figures, OnMachines, testing::Values(1, 2, 3, 4, 12, 96));

TEST(Places, go_by_size) {
  using Places = std::map<std::string_view, std::size_t>;
  const image::Size cif{352, 288};
  const image::Size hd{1920, 1080};
  EXPECT_EQ(places_of({}).value(), Places{});
  EXPECT_EQ(places_of(std::vector{cif}).value(), (Places{{foreman, 0}}));
  EXPECT_EQ(places_of(std::vector{hd}).value(), (Places{{tractor, 0}}));
  EXPECT_EQ(places_of(std::vector{image::Size{1280, 720}}).value(), (Places{{tractor, 0}}));
  EXPECT_EQ(places_of(std::vector{image::Size{640, 480}}).value(), (Places{{foreman, 0}}));
  EXPECT_EQ(places_of(std::vector{image::Size{30000, 30000}}).value(), (Places{{tractor, 0}}));
  EXPECT_EQ(places_of(std::vector{hd, cif}).value(), (Places{{foreman, 1}, {tractor, 0}}));
  EXPECT_EQ(places_of(std::vector{cif, hd}).value(), (Places{{foreman, 0}, {tractor, 1}}));
  EXPECT_FALSE(places_of(std::vector{cif, hd, cif}));
}

TEST(StudyMachineTest, counts_cores_and_knows_modules) {
  machine::MachineReport bulldozer{
      .topology = machine::Topology::from_synthetic(
                      {.description = "pack:1 l3:1 l2:4 core:1 pu:2", .family = "amd-bulldozer"})
                      .value()};
  bulldozer.usable.cpus = bulldozer.topology.cpus();
  bulldozer.usable.worker_limit = 8;
  const StudyMachine modules = study_machine(bulldozer);
  EXPECT_EQ(modules.cores, 8);
  EXPECT_TRUE(modules.modules);
  machine::MachineReport plain{
      .topology = machine::Topology::from_synthetic({.description = "pack:1 l3:1 l2:4 core:1 pu:2"}).value()};
  plain.usable.cpus = plain.topology.cpus();
  plain.usable.worker_limit = 8;
  EXPECT_EQ(study_machine(plain).cores, 4);
  EXPECT_FALSE(study_machine(plain).modules);
}

}  // namespace
}  // namespace millrace::report
