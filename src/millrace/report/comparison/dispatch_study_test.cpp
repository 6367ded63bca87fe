#include "millrace/report/comparison/dispatch_study.h"

#include <algorithm>

#include <gtest/gtest.h>

namespace millrace::report {
namespace {

DispatchObservations observations(std::span<const DispatchStudy> studies) {
  DispatchObservations observed{.cpus = 2, .costs = {.birth_ms = 0.02, .migration_ms = 0.01}};
  for (const Variant variant : {Variant::basic, Variant::swing, Variant::tow})
    for (const Verb verb : {Verb::encode, Verb::decode})
      observed.alone_ms[{variant, verb}] = 4;
  for (const DispatchSetting& setting : dispatch_settings(studies)) {
    // Twice as long in every round if the kernel places the threads.
    const double factor = setting.binding == Binding::none ? 2 : 1;
    observed.ms[setting] = {factor, 3 * factor, 2 * factor};
  }
  return observed;
}

TEST(DispatchStudy, TakesRatiosTurnByTurnBesideThePapers) {
  for (const DispatchStudy study : all_dispatch_studies()) {
    const std::array one{study};
    const auto comparison = compare(study, observations(one));
    ASSERT_TRUE(comparison) << comparison.error().message;
    ASSERT_TRUE(check({.comparisons = {*comparison}}));
    if (study == DispatchStudy::fig5) continue;
    const ComparisonTable& table = comparison->tables.front();
    ASSERT_EQ(table.rows.size(), 6U);
    const auto pairs =
        static_cast<std::size_t>(std::ranges::count(table.columns, Origin::paper, &ComparisonColumn::origin));
    for (const ComparisonRow& row : table.rows)
      for (std::size_t i = 0; i < pairs; ++i)
        EXPECT_NEAR(row.values[pairs + i]->mean, table.columns[pairs + i].name.starts_with("NoB") ? 100 : 0,
                    1e-6);
    for (const ComparisonRow& row : table.rows) {
      // 4 ms on one core, or a quarter of it on each of four, plus the cost of creating and moving threads.
      EXPECT_GT(row.values[2 * pairs]->mean, 20) << table.columns[2 * pairs].name;
      EXPECT_LT(row.values[2 * pairs]->mean, 300);
      EXPECT_EQ(table.columns[2 * pairs].origin, Origin::simulated);
    }
  }
  const std::array table4{DispatchStudy::table4};
  const auto comparison = compare(DispatchStudy::table4, observations(table4));
  EXPECT_EQ(comparison->tables[0].rows[2].keys, (std::vector<std::string>{"swing", "encode"}));
  EXPECT_EQ(comparison->tables[0].rows[2].values[0]->mean, 171.8);
}

TEST(DispatchStudy, SaysWhatWasNotMeasured) {
  const std::array table4{DispatchStudy::table4};
  EXPECT_FALSE(compare(DispatchStudy::table7, observations(table4)));
  DispatchObservations uneven = observations(table4);
  uneven.ms.begin()->second.pop_back();
  EXPECT_FALSE(compare(DispatchStudy::table4, uneven));
  DispatchObservations without = observations(table4);
  without.alone_ms.clear();
  EXPECT_FALSE(compare(DispatchStudy::table4, without));
}

TEST(PercentText, has_no_negative_zero_and_no_span_of_nothing) {
  EXPECT_EQ(percent_text(-0.3, 0.2), "0 %");
  EXPECT_EQ(percent_text(-1.2, -0.1), "-1 to 0 %");
  EXPECT_EQ(percent_text(9.6, 20.4), "10 to 20 %");
}

}  // namespace
}  // namespace millrace::report
