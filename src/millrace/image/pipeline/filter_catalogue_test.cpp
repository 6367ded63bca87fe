#include "millrace/image/filters/named_filters.h"
#include "millrace/image/pipeline/filter_catalogue.h"
#include "millrace/image/pipeline/pipeline_testing.h"
#include "millrace/image/pipeline/pipeline_toml.h"

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace millrace::image {
namespace {

using ::testing::HasSubstr;

std::vector<Filter> sample_filters() {
  Filter plain;
  plain.name = "plain";
  plain.summary = "does little";
  Filter rich;
  rich.name = "rich";
  rich.summary =
      "has a summary that is by far too long to fit into the eighty columns of one line of a terminal";
  rich.inputs = 3;
  rich.geometric = true;
  rich.chroma = ChromaDefault::neutral;
  rich.parameters = {{.name = "angle",
                      .summary = "the angle",
                      .unit = "degrees",
                      .minimum = -1.5,
                      .maximum = 1.5,
                      .choices = {}},
                     {.name = "count",
                      .summary = "how many",
                      .unit = "",
                      .type = ParameterType::integer,
                      .minimum = 2,
                      .maximum = 9,
                      .required = false,
                      .fallback = 3,
                      .choices = {}},
                     {.name = "side",
                      .summary = "which",
                      .unit = "",
                      .type = ParameterType::choice,
                      .required = false,
                      .fallback = 1,
                      .choices = {"left", "right"}}};
  return {plain, rich};
}

constexpr Preset sample_presets[] = {{.name = "@Z", .text = "plain"}};

TEST(FilterCatalogue, AlignsAndWrapsItsText) {
  EXPECT_EQ(catalogue_text(sample_filters(), sample_presets), R"(Filters

  plain                             does little
  rich(angle, count=3, side=right)  has a summary that is by far too long to fit
                                    into the eighty columns of one line of a
                                    terminal (3 inputs); chroma becomes neutral
    angle                           the angle: -1.5 to 1.5 degrees
    count                           how many: 2 to 9, whole
    side                            which: left or right

Presets

  @Z  plain
)");
}

TEST(FilterCatalogue, GivesALabelThatIsTooLongALineOfItsOwn) {
  std::vector<Filter> filters = sample_filters();
  filters[0].name = "a_name_that_is_longer_than_the_label_column";
  EXPECT_THAT(catalogue_text(filters, {}),
              HasSubstr("  a_name_that_is_longer_than_the_label_column\n      "));
}

TEST(FilterCatalogue, FitsATerminalAndNamesEverything) {
  const std::string text = catalogue_text();
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    EXPECT_LE(line.size(), 80U) << line;
    EXPECT_FALSE(line.ends_with(' ')) << line;
  }
  for (const Filter& filter : all_filters()) {
    EXPECT_THAT(text, HasSubstr("\n  " + std::string(filter.name)));
    for (const Parameter& parameter : filter.parameters) {
      EXPECT_THAT(text, HasSubstr("\n    " + std::string(parameter.name) + ' ')) << filter.name;
    }
  }
  for (const Preset& preset : presets())
    EXPECT_THAT(text, HasSubstr(std::string(preset.text)));
}

TEST(FilterCatalogue, WritesJsonWithWhatEachTypeHas) {
  EXPECT_EQ(catalogue_json(sample_filters(), sample_presets), nlohmann::ordered_json::parse(R"({
    "filters": [
      {"name": "plain", "summary": "does little", "inputs": 1, "geometric": false, "chroma": "filtered", "parameters": []},
      {"name": "rich",
       "summary":
         "has a summary that is by far too long to fit into the eighty columns of one line of a terminal",
       "inputs": 3, "geometric": true, "chroma": "neutral", "parameters": [
        {"name": "angle", "summary": "the angle", "type": "real", "required": true,
         "minimum": -1.5, "maximum": 1.5, "unit": "degrees"},
        {"name": "count", "summary": "how many", "type": "integer", "required": false,
         "minimum": 2, "maximum": 9, "default": 3},
        {"name": "side", "summary": "which", "type": "choice", "required": false,
         "choices": ["left", "right"], "default": "right"}]}],
    "presets": [{"name": "@Z", "pipeline": "plain"}]})"));
}

TEST(FilterCatalogue, JsonCoversEveryFilterAndPreset) {
  const auto json = catalogue_json();
  ASSERT_EQ(json["filters"].size(), all_filters().size());
  for (std::size_t f = 0; f < all_filters().size(); ++f) {
    EXPECT_EQ(json["filters"][f]["name"], all_filters()[f].name);
    EXPECT_EQ(json["filters"][f]["parameters"].size(), all_filters()[f].parameters.size());
  }
  ASSERT_EQ(json["presets"].size(), presets().size());
  for (const auto& preset : json["presets"]) {
    EXPECT_EQ(parsed(preset["pipeline"].get<std::string>()),
              must(load_pipeline(preset["name"].get<std::string>())));
  }
}

// docs/pipelines.md repeats facts about filters by hand; these tests keep it up to date.
std::string pipelines_document() {
  std::ifstream file(std::string(MILLRACE_SOURCE_DIR) + "/docs/pipelines.md");
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(PipelinesDocument, ListsEveryFilterAndPreset) {
  const std::string document = pipelines_document();
  for (const Filter& filter : all_filters())
    EXPECT_THAT(document, HasSubstr("\n| `" + std::string(filter.name)));
  for (const Preset& preset : presets()) {
    // In a Markdown table, bars must be escaped.
    std::string text;
    for (char c : preset.text)
      text += c == '|' ? std::string("\\|") : std::string(1, c);
    EXPECT_THAT(document, HasSubstr("| `" + std::string(preset.name) + "` | `" + text + "` |"));
  }
}

TEST(PipelinesDocument, ShowsThePresetAAsToml) {
  const std::string document = pipelines_document();
  constexpr std::string_view opening = "```toml\n";
  const std::size_t begin = document.find(opening);
  ASSERT_NE(begin, std::string::npos);
  const std::string example = document.substr(
      begin + opening.size(), document.find("```", begin + opening.size()) - begin - opening.size());
  EXPECT_EQ(must(parse_pipeline_toml(example, "pipelines.md")), must(load_pipeline("@A")));
}

}  // namespace
}  // namespace millrace::image
