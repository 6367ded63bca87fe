#include "millrace/model/pipeline/pipeline_text.h"
#include "millrace/report/plot/model_plot.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace::report {
namespace {

using testing::HasSubstr;

TEST(ModelPlot, DrawsALineForEveryStrategyAndEscapesNames) {
  model::Pipeline given = model::parse_pipeline_text("load 1ms; work 4ms").value();
  given.stages[0].name = "<&>\x1b";
  const auto report = model::answer(given, {.cores = {1, 2, 4}, .simulate = false});
  ASSERT_TRUE(report);
  const std::string svg = plot_svg(*report, {{"stealing", 2, 3.0}});
  for (const model::Strategy strategy : model::all_strategies)
    EXPECT_THAT(svg, HasSubstr(std::string(model::to_string(strategy))));
  EXPECT_THAT(svg, HasSubstr("serial: &lt;&amp;&gt;\\x1b"));
  EXPECT_THAT(svg, HasSubstr("measured, stealing"));
  EXPECT_EQ(svg.find("nan"), std::string::npos);
  EXPECT_TRUE(svg.ends_with("</svg>\n"));
}

}  // namespace
}  // namespace millrace::report
