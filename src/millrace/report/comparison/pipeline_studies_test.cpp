#include "millrace/model/pipeline/pipeline_testing.h"
#include "millrace/report/comparison/pipeline_studies.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace millrace::report {
namespace {

// A machine with two PEs. Every requested run took 1 s, then 3 s, divided by its PEs. The threads of each
// stage worked for a quarter of it, then half. quick: with the settings of a quick study; all tests simulate
// its few items.
PipelineObservations observations(PipelineStudy study, bool quick = true) {
  PipelineObservations observed{.pes = 2, .quick = true};
  observed.times[StudyProgram::similar] = {
      model::pipeline("read 0.1ms; load 1ms; segment 1ms; rank 2ms; output ordered 1us"), 500, 2};
  observed.times[StudyProgram::dedup] = {
      model::pipeline(
          "read 0.5ms; refine 1ms; digest 1ms; deduplicate ordered 0.1ms; compress 4ms; write ordered 0.5ms"),
      300, 2};
  observed.four_stages =
      ServiceTimes{model::pipeline("names 1us; read 0.5ms; compute 4ms; output ordered 1us"), 500, 2};
  for (const ProgramSetting& setting : settings_of(study, observed.pes, quick)) {
    const double pes = setting.pes;
    ProgramRuns runs{.seconds = {1 / pes, 3 / pes}, .stages = {}};
    for (const model::Stage& stage : observed.times.at(setting.program).pipeline.stages) {
      const int threads = stage.is_parallel() ? setting.threads : 1;
      runs.stages.push_back({stage.name, threads, {0.25 * threads / pes, 1.5 * threads / pes}});
    }
    observed.runs[setting] = std::move(runs);
  }
  return observed;
}

bool is_here(const ComparisonTable& table, std::size_t column) {
  return table.columns[column].origin != Origin::paper;
}
bool is_measured(const ComparisonTable& table, std::size_t column) {
  return table.columns[column].origin == Origin::measured;
}
std::optional<std::size_t> index_of(const ComparisonTable& table, std::string_view name, Origin origin) {
  for (std::size_t i = 0; i < table.columns.size(); ++i)
    if (table.columns[i].name == name && table.columns[i].origin == origin) return i;
  return std::nullopt;
}

class PipelineStudies : public testing::TestWithParam<PipelineStudy> {};

TEST_P(PipelineStudies, MakeAPageWithoutGapsAndWithASentenceOnWhatAgrees) {
  const auto comparison = compare(GetParam(), observations(GetParam()));
  ASSERT_TRUE(comparison) << comparison.error().message;
  ComparisonPage page{.command = "millrace study", .comparisons = {*comparison}};
  const Status whole = check(page);
  ASSERT_TRUE(whole) << whole.error().message;
  const std::string html = to_page(page);
  EXPECT_NE(html.find(name_of(GetParam())), std::string::npos);
  EXPECT_EQ(html.find("nan"), std::string::npos);
  EXPECT_GE(comparison->plots.size(), 1U);
  EXPECT_EQ(to_json(page)["studies"][0]["tables"].size(), comparison->tables.size());
}

TEST_P(PipelineStudies, CallMeasuredOnlyWhatWasRun) {
  PipelineObservations nothing = observations(GetParam());
  nothing.runs.clear();
  const auto comparison = compare(GetParam(), nothing);
  ASSERT_TRUE(comparison) << comparison.error().message;
  for (const ComparisonTable& table : comparison->tables)
    for (const ComparisonRow& row : table.rows)
      for (std::size_t i = 0; i < row.values.size(); ++i)
        EXPECT_FALSE(table.columns[i].origin == Origin::measured && row.values[i]) << table.caption;
}

// With all settings of a machine with two PEs, every column other than the paper's is filled in every row.
// Exceptions are measurements that need more PEs or are too long for a quick study.
TEST_P(PipelineStudies, FillEveryCellThatWasComputedOrRun) {
  for (const bool quick : {true, false}) {
    const auto comparison = compare(GetParam(), observations(GetParam(), quick));
    ASSERT_TRUE(comparison) << comparison.error().message;
    std::size_t times = 0;
    for (const ComparisonTable& table : comparison->tables)
      for (const ComparisonRow& row : table.rows)
        for (std::size_t i = 0; i < row.values.size(); ++i) {
          const auto& value = row.values[i];
          if (is_here(table, i) && !is_measured(table, i)) {
            ASSERT_TRUE(value) << table.caption << ", " << table.columns[i].name;
          }
          if (!value) continue;
          EXPECT_TRUE(std::isfinite(value->mean));
          EXPECT_LE(value->low, value->mean + 1e-9);
          EXPECT_GE(value->high, value->mean - 1e-9);
          if (is_measured(table, i) && table.columns[i].unit == "s") ++times;
        }
    std::size_t asked = settings_of(GetParam(), 2, quick).size();
    if (GetParam() == PipelineStudy::fig2) asked *= 2 * 5;  // useful and idle of five stages
    if (GetParam() == PipelineStudy::fig4) asked *= 2 * 6;
    EXPECT_EQ(times, asked);
  }
}

TEST_P(PipelineStudies, DeriveSpeedUpsAndEfficienciesFromTimes) {
  const auto observed = observations(GetParam());
  const auto comparison = compare(GetParam(), observed);
  ASSERT_TRUE(comparison);
  for (const ComparisonTable& table : comparison->tables)
    for (std::size_t i = 0; i + 2 < table.columns.size(); ++i) {
      if (!table.columns[i].name.starts_with("time") || !table.columns[i + 1].name.starts_with("speed-up"))
        continue;
      ASSERT_TRUE(table.columns[i + 2].name.starts_with("efficiency"));
      const bool own_cores = table.caption == "A core for each thread";
      const auto key = std::ranges::find(table.keys, table.keys.size() == 1 ? "PEs" : "cores");
      ASSERT_NE(key, table.keys.end());
      for (const ComparisonRow& row : table.rows) {
        if (!row.values[i]) continue;
        ASSERT_TRUE(row.values[i + 1] && row.values[i + 2]);
        int pes = std::stoi(row.keys[static_cast<std::size_t>(key - table.keys.begin())]);
        // The paper's program has a different number of threads.
        if (own_cores && !is_here(table, i)) pes = 4 * std::stoi(row.keys[0]) + 2;
        EXPECT_NEAR(row.values[i + 2]->mean, 100 * row.values[i + 1]->mean / pes, 1e-6) << table.caption;
        if (is_here(table, i)) {
          EXPECT_NEAR(row.values[i]->mean * row.values[i + 1]->mean, 2, 1e-6) << table.caption;
        }
      }
    }
}

TEST_P(PipelineStudies, DeriveSimulatedImprovementsFromTheTwoTimes) {
  const auto comparison = compare(GetParam(), observations(GetParam()));
  ASSERT_TRUE(comparison);
  const bool input = GetParam() == PipelineStudy::fig11;
  if (!input && GetParam() != PipelineStudy::fig10b) return;
  const ComparisonTable& table = comparison->tables.front();
  const auto slow = index_of(table, input ? "pools, 64 workers" : "pools", Origin::simulated);
  const auto fast = index_of(table, input ? "stealing, 64 workers" : "stealing", Origin::simulated);
  const auto gain = index_of(table, input ? "improvement of stealing" : "improvement", Origin::simulated);
  ASSERT_TRUE(slow && fast && gain);
  for (const ComparisonRow& row : table.rows)
    EXPECT_NEAR(row.values[*gain]->mean, 100 * (row.values[*slow]->mean / row.values[*fast]->mean - 1), 1e-6);
}

// The paper's figures must not depend on this machine, and this machine's figures not on the paper.
TEST_P(PipelineStudies, KeepTheFiguresOfThePaperApart) {
  PipelineObservations other = observations(GetParam());
  for (auto& [program, times] : other.times) {
    for (model::Stage& stage : times.pipeline.stages)
      stage.service = model::ServiceTime::exponential(2 * stage.service.mean_seconds());
    times.sequential_seconds *= 2;
  }
  for (model::Stage& stage : other.four_stages->pipeline.stages)
    stage.service = model::ServiceTime::exponential(2 * stage.service.mean_seconds());
  const auto one = compare(GetParam(), observations(GetParam()));
  const auto two = compare(GetParam(), other);
  ASSERT_TRUE(one && two);
  for (std::size_t t = 0; t < one->tables.size(); ++t) {
    const ComparisonTable& table = one->tables[t];
    for (std::size_t r = 0; r < table.rows.size(); ++r)
      for (std::size_t c = 0; c < table.columns.size(); ++c) {
        const auto& a = table.rows[r].values[c];
        const auto& b = two->tables[t].rows[r].values[c];
        ASSERT_EQ(a.has_value(), b.has_value());
        if (!a) continue;
        const bool of_service_times =
            table.columns[c].unit == "s" &&
            (table.columns[c].origin == Origin::predicted || table.columns[c].origin == Origin::simulated);
        if (table.columns[c].origin == Origin::paper) {
          EXPECT_EQ(a->mean, b->mean);
        } else if (of_service_times && a->mean > 0) {
          EXPECT_NEAR(b->mean / a->mean, 2, 0.2) << table.caption << ", " << table.columns[c].name;
        }
      }
  }
}

INSTANTIATE_TEST_SUITE_P(All, PipelineStudies,
                         testing::ValuesIn(all_pipeline_studies().begin(), all_pipeline_studies().end()),
                         [](const auto& test) {
                           std::string name(name_of(test.param));
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

TEST(PipelineStudyNames, AreThereOnce) {
  std::set<std::string_view> names;
  for (const PipelineStudy study : all_pipeline_studies())
    names.insert(name_of(study));
  EXPECT_EQ(names.size(), all_pipeline_studies().size());
}

// Table 1 of the paper: 6/6 threads take 370.6 s, a speed-up of 1.2 and 19.7 % of six cores.
TEST(PipelineTables, StateThePapersTable1) {
  const auto comparison = compare(PipelineStudy::table1, observations(PipelineStudy::table1));
  ASSERT_TRUE(comparison);
  const ComparisonTable& own = comparison->tables.front();
  ASSERT_EQ(own.rows.front().keys.front(), "1");
  EXPECT_NEAR(own.rows.front().values[0]->mean, 370.6, 1e-9);
  EXPECT_NEAR(own.rows.front().values[1]->mean, 1.2, 0.05);
  EXPECT_NEAR(own.rows.front().values[2]->mean, 19.7, 0.1);
}

// Pools take 4, 2 and 6 s in turn, stealing 2, 1 and 3: a factor of two in each round, whatever the means
// are.
TEST(PipelineImprovements, AreTakenTurnByTurnWithTheirInterval) {
  for (const PipelineStudy study : {PipelineStudy::fig10b, PipelineStudy::fig11}) {
    PipelineObservations observed = observations(study);
    for (auto& [setting, runs] : observed.runs)
      runs.seconds =
          setting.strategy == "collapsed" ? std::vector{4.0, 2.0, 6.0} : std::vector{2.0, 1.0, 3.0};
    const auto turn_by_turn = [&]() -> std::optional<PlotValue> {
      const auto comparison = compare(study, observed);
      if (!comparison) return std::nullopt;
      const ComparisonTable& table = comparison->tables.front();
      for (const ComparisonRow& row : table.rows)
        for (std::size_t i = 0; i < row.values.size(); ++i)
          if (is_measured(table, i) && table.columns[i].unit == "%" && row.values[i]) return row.values[i];
      return std::nullopt;
    };
    const auto even = turn_by_turn();
    ASSERT_TRUE(even);
    EXPECT_NEAR(even->mean, 100, 1e-6);
    EXPECT_NEAR(even->high, 100, 1e-6);
    for (auto& [setting, runs] : observed.runs)
      if (setting.strategy == "collapsed") runs.seconds = {4.2, 2.0, 5.7};
    const auto uneven = turn_by_turn();
    ASSERT_TRUE(uneven);
    EXPECT_LT(uneven->low, uneven->mean);
    EXPECT_GT(uneven->high, uneven->mean);
    // Settings with different numbers of runs cannot be paired.
    observed.runs.begin()->second.seconds.pop_back();
    EXPECT_FALSE(turn_by_turn());
  }
}

// From runs of 1 and 3 s, of which a quarter and a half are useful, on two PEs: 0.4375 s of 1 s are useful.
TEST(PipelineBreakdowns, AreMeansOverAllRuns) {
  for (const PipelineStudy study : {PipelineStudy::fig2, PipelineStudy::fig4}) {
    const auto comparison = compare(study, observations(study));
    ASSERT_TRUE(comparison);
    const ComparisonTable& table = comparison->tables.front();
    bool seen = false;
    for (const ComparisonRow& row : table.rows) {
      EXPECT_GE(row.values[1]->mean, 0);
      if (!row.values[2]) continue;
      seen = true;
      EXPECT_NEAR(row.values[2]->mean, 0.4375, 1e-9);
      EXPECT_NEAR(row.values[2]->mean + row.values[3]->mean, 1, 1e-9);
      EXPECT_LT(row.values[2]->low, row.values[2]->high);
    }
    EXPECT_TRUE(seen);
    // Simulated: for each c, the useful and idle times of all stages add up to the same run.
    for (std::size_t r = 1; r < table.rows.size(); ++r) {
      if (table.rows[r].keys[0] != table.rows[r - 1].keys[0]) continue;
      const auto run = [&](std::size_t row) {
        return table.rows[row].values[0]->mean + table.rows[row].values[1]->mean;
      };
      EXPECT_NEAR(run(r), run(r - 1), 1e-6);
    }
  }
}

TEST(PipelineInput, StatesWhatThePaperGainsByStealing) {
  const auto comparison = compare(PipelineStudy::fig11, observations(PipelineStudy::fig11));
  ASSERT_TRUE(comparison);
  ASSERT_EQ(comparison->tables.size(), 2U);
  const ComparisonTable& most = comparison->tables[1];
  EXPECT_EQ(most.rows.front().values[0]->mean, 69);
  const ComparisonTable& all = comparison->tables[0];
  const auto gain = index_of(all, "improvement of stealing", Origin::simulated);
  ASSERT_TRUE(gain);
  double greatest = -100;
  for (const ComparisonRow& row : all.rows)
    greatest = std::max(greatest, row.values[*gain]->mean);
  EXPECT_NEAR(most.rows.front().values[2]->mean, greatest, 1e-9);
}

TEST(ComparisonPage, ThatHasGapsIsRefused) {
  const auto good = compare(PipelineStudy::fig10b, observations(PipelineStudy::fig10b));
  ASSERT_TRUE(good);
  ComparisonPage page{.comparisons = {*good}};
  ASSERT_TRUE(check(page));
  page.comparisons[0].tables[0].rows[0].values.pop_back();
  EXPECT_FALSE(check(page));
  page.comparisons[0] = *good;
  for (ComparisonRow& row : page.comparisons[0].tables[0].rows)
    row.values[1].reset();
  EXPECT_FALSE(check(page));
  page.comparisons[0] = *good;
  page.comparisons[0].tables[0].rows[0].values[1] = PlotValue{std::nan(""), 0, 0};
  EXPECT_FALSE(check(page));
  page.comparisons[0] = *good;
  page.comparisons[0].findings.clear();
  EXPECT_FALSE(check(page));
}

}  // namespace
}  // namespace millrace::report
