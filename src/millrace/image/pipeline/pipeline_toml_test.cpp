#include "millrace/base/testing/temporary_folder_testing.h"
#include "millrace/image/pipeline/pipeline_language.h"
#include "millrace/image/pipeline/pipeline_testing.h"
#include "millrace/image/pipeline/pipeline_toml.h"
#include "millrace/image/pipeline/presets.h"

#include <filesystem>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace::image {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr std::string_view edges = R"(
# edges of a smoothed picture
[[stage]]
filter = "blur"
name = "smooth"

[[stage]]
filter = "sobel_y"
name = "vertical"

[[stage]]
filter = "sobel_x"
name = "horizontal"
input = "smooth"

[[stage]]
filter = "magnitude"
inputs = ["horizontal", "vertical"]

[[stage]]
filter = "threshold"
keep = "below"
t = 1
)";

std::string toml_error_of(std::string_view text) {
  const auto pipeline = parse_pipeline_toml(text, "edges.toml");
  if (pipeline) return "no error";
  EXPECT_EQ(pipeline.error().kind, ErrorKind::usage);
  EXPECT_EQ(pipeline.error().message.find('\n'), std::string::npos) << pipeline.error().message;
  return pipeline.error().message;
}

TEST(PipelineToml, MeansTheSameAsTheLanguageWhateverTheOrderOfItsStages) {
  const auto pipeline = parse_pipeline_toml(edges, "edges.toml");
  EXPECT_EQ(must(pipeline), parsed("blur | [sobel_x, sobel_y] | magnitude | threshold(1, below)"));
}

TEST(PipelineToml, ReadsInlineTablesAndSeveralReadersOfTheSource) {
  const auto pipeline = parse_pipeline_toml(
      R"(stage = [{filter = "blur", name = "b"}, {filter = "magnitude", inputs = ["source", "b"]}])",
      "f.toml");
  EXPECT_EQ(must(pipeline), parsed("[input, blur] | magnitude"));
}

TEST(PipelineToml, CallsTheSecondVideoByItsName) {
  const Pipeline beside = parsed("[input, second | blur] | magnitude");
  EXPECT_EQ(must(parse_pipeline_toml(
                R"(stage = [{filter = "blur", input = "second", name = "b"},
                            {filter = "magnitude", inputs = ["source", "b"]}])",
                "f.toml")),
            beside);
  EXPECT_EQ(must(parse_pipeline_toml(to_toml(beside), "f.toml")), beside);
}

TEST(PipelineToml, WritesWhatAPersonWould) {
  EXPECT_EQ(to_toml(parsed("blur | [sobel_x, sobel_y] | magnitude | threshold(0.1, below)")),
            R"([[stage]]
filter = "blur"
name = "blur_1"

[[stage]]
filter = "sobel_x"
name = "sobel_x_2"

[[stage]]
filter = "sobel_y"
name = "sobel_y_3"
input = "blur_1"

[[stage]]
filter = "magnitude"
inputs = ["sobel_x_2", "sobel_y_3"]

[[stage]]
filter = "threshold"
t = 0.1
keep = "below"
)");
}

class TomlSeeds : public ::testing::TestWithParam<unsigned> {};
INSTANTIATE_TEST_SUITE_P(PipelineToml, TomlSeeds, ::testing::Range(0U, 10U));

TEST_P(TomlSeeds, EveryGraphRoundTrips) {
  Random random(GetParam());
  for (int i = 0; i < 100; ++i) {
    const Pipeline pipeline = random_graph(random, 1 + below(random, 15));
    const std::string text = to_toml(pipeline);
    EXPECT_EQ(must(parse_pipeline_toml(text, "random.toml")), pipeline) << text;
  }
}

TEST(PipelineToml, EveryPresetRoundTrips) {
  for (const Preset& preset : presets()) {
    const Pipeline pipeline = parsed(preset.text);
    EXPECT_EQ(must(parse_pipeline_toml(to_toml(pipeline), "preset.toml")), pipeline) << preset.name;
  }
}

struct TomlMistake {
  std::string_view text;
  std::string_view says;
};
class TomlMistakes : public ::testing::TestWithParam<TomlMistake> {};

TEST_P(TomlMistakes, AreReportedWithFileAndLine) {
  EXPECT_THAT(toml_error_of(GetParam().text), StartsWith(std::string(GetParam().says)));
}

INSTANTIATE_TEST_SUITE_P(
    Shape, TomlMistakes,
    ::testing::Values(
        TomlMistake{"", "edges.toml: no [[stage]] in the file"},
        TomlMistake{"stage = []", "edges.toml: no [[stage]]"},
        TomlMistake{"\nstages = 1",
                    "edges.toml:2: unknown key 'stages'; a pipeline is made of [[stage]] tables"},
        TomlMistake{"stage = 1", "edges.toml:1: 'stage' must be an array of tables"},
        TomlMistake{"[stage]\nfilter = 'blur'", "edges.toml:1: 'stage' must be an array of tables"},
        TomlMistake{"stage = [{filter = 'blur'},\n 2]", "edges.toml:2: a stage must be a table"},
        TomlMistake{"[[stage]]\nfilter = blur", "edges.toml:2: not valid TOML: "},
        TomlMistake{"[[stage]]\nfilter = 'blur'\nfilter = 'blur'", "edges.toml:3: not valid TOML: "},
        TomlMistake{"[[stage]]\nfilter = \"\xFF\"", "edges.toml:2: not valid TOML: "}));

INSTANTIATE_TEST_SUITE_P(
    Stages, TomlMistakes,
    ::testing::Values(TomlMistake{"\n\n[[stage]]\nname = 'b'", "edges.toml:3: this stage has no filter"},
                      TomlMistake{"[[stage]]\nfilter = 3", "edges.toml:2: filter must be a name in quotes"},
                      TomlMistake{"[[stage]]\nfilter = 'bluur'",
                                  "edges.toml:2: unknown filter 'bluur'; did you mean 'blur'?"},
                      TomlMistake{"[[stage]]\nfilter = 'blur'\nname = ''", "edges.toml:3: name must be text"},
                      TomlMistake{"[[stage]]\nfilter = 'blur'\nname = 'source'",
                                  "edges.toml:3: no stage may be named 'source'"},
                      TomlMistake{"[[stage]]\nfilter = 'blur'\nname = 'second'",
                                  "edges.toml:3: no stage may be named 'second'"},
                      TomlMistake{
                          "[[stage]]\nfilter = 'blur'\nname = 'b'\n[[stage]]\nfilter = 'blur'\nname = 'b'",
                          "edges.toml:6: name 'b' is taken by the stage of line 1"},
                      TomlMistake{"[[stage]]\nfilter = 'blur'\n[[stage]]\nfilter = 'blur'\ninput = 'source'",
                                  "edges.toml:1: nothing uses this stage (blur)"}));

INSTANTIATE_TEST_SUITE_P(
    Inputs, TomlMistakes,
    ::testing::Values(
        TomlMistake{"[[stage]]\nfilter = 'blur'\nname = 'b'\ninput = 'b'",
                    "edges.toml:4: stage 'b' is its own input"},
        TomlMistake{"[[stage]]\nfilter = 'blur'\ninput = 'c'\n[[stage]]\nfilter = 'blur'\nname = 'c'",
                    "edges.toml:3: stage 'c' comes later, at line 4; a stage reads from earlier ones only"},
        TomlMistake{
            "[[stage]]\nfilter = 'blur'\nname = 'smooth'\n[[stage]]\nfilter = 'blur'\ninput = 'smoth'",
            "edges.toml:6: no earlier stage is named 'smoth'; did you mean 'smooth'?"},
        TomlMistake{"[[stage]]\nfilter = 'blur'\ninput = 'sorce'",
                    "edges.toml:3: no earlier stage is named 'sorce'; did you mean 'source'?"},
        TomlMistake{"[[stage]]\nfilter = 'blur'\ninput = 3",
                    "edges.toml:3: an input must be the name of a stage"},
        TomlMistake{"[[stage]]\nfilter = 'blur'\ninputs = 'source'", "edges.toml:3: inputs must be an array"},
        TomlMistake{"[[stage]]\nfilter = 'blur'\ninput = 'source'\ninputs = ['source']",
                    "edges.toml:4: give either input or inputs"},
        TomlMistake{"[[stage]]\nfilter = 'blur'\ninputs = ['source', 'source']",
                    "edges.toml:3: blur takes 1 input, not 2"},
        TomlMistake{"[[stage]]\nfilter = 'blur'\ninputs = []", "edges.toml:3: blur takes 1 input, not 0"},
        TomlMistake{"[[stage]]\nfilter = 'magnitude'", "edges.toml:1: magnitude takes 2 inputs; name them"},
        TomlMistake{"[[stage]]\nfilter = 'magnitude'\ninput = 'source'",
                    "edges.toml:3: magnitude takes 2 inputs, not 1"}));

INSTANTIATE_TEST_SUITE_P(
    Parameters, TomlMistakes,
    ::testing::Values(
        TomlMistake{"[[stage]]\nfilter = 'threshold'", "edges.toml:1: threshold: t is missing"},
        TomlMistake{"[[stage]]\nfilter = 'threshold'\nt = 99",
                    "edges.toml:3: threshold: t must be a number from -16 to 16, not '99'"},
        TomlMistake{"[[stage]]\nfilter = 'threshold'\nt = nan",
                    "edges.toml:3: threshold: t must be a number"},
        TomlMistake{"[[stage]]\nfilter = 'threshold'\nt = true",
                    "edges.toml:3: threshold: t must be a number from -16 to 16, not 'true'"},
        TomlMistake{"[[stage]]\nfilter = 'threshold'\nt = '1'",
                    "edges.toml:3: threshold: t must be a number"},
        TomlMistake{"[[stage]]\nfilter = 'threshold'\nt = [1]",
                    "edges.toml:3: threshold: t must be a number from -16 to 16, not 'an array'"},
        TomlMistake{"[[stage]]\nfilter = 'threshold'\nt = 1979-05-27",
                    "edges.toml:3: threshold: t must be a number"},
        TomlMistake{
            "[[stage]]\nfilter = 'threshold'\nt = 1\nkeep = 'bellow'",
            "edges.toml:4: threshold: keep must be above or below, not 'bellow'; did you mean 'below'?"},
        TomlMistake{"[[stage]]\nfilter = 'threshold'\nt = 1\nkeep = 1",
                    "edges.toml:4: threshold: keep must be above or below, not '1'"},
        TomlMistake{"[[stage]]\nfilter = 'discretise'\nlevels = 2.5",
                    "edges.toml:3: discretise: levels must be a whole number"},
        TomlMistake{"[[stage]]\nfilter = 'blur'\ninptu = 'source'",
                    "edges.toml:3: blur takes no parameters, so not 'inptu'"}));

TEST(PipelineToml, RefusesTooManyStages) {
  std::string text;
  for (std::size_t i = 0; i < max_stages; ++i)
    text += "[[stage]]\nfilter = 'blur'\n";
  EXPECT_TRUE(parse_pipeline_toml(text, "long.toml"));
  EXPECT_THAT(toml_error_of(text + "[[stage]]\nfilter = 'blur'\n"),
              HasSubstr("257 stages, more than the 256 allowed"));
}

class PipelineFile : public ::testing::Test {
 protected:
  std::string write(std::string_view text) const {
    const std::string path = folder_ / "pipeline.toml";
    make_file(path, text);
    return path;
  }

  TemporaryFolder folder_;
};

TEST_F(PipelineFile, IsLoadedByItsEnding) {
  EXPECT_EQ(must(load_pipeline(write(edges))), must(parse_pipeline_toml(edges, "edges.toml")));
}

TEST_F(PipelineFile, IsNamedInErrors) {
  const std::string path = write("[[stage]]\nfilter = 'bluur'\n");
  const auto loaded = load_pipeline(path);
  ASSERT_FALSE(loaded);
  EXPECT_THAT(loaded.error().message, StartsWith(path + ":2: unknown filter 'bluur'"));
}

TEST_F(PipelineFile, ThatCannotBeReadIsAUsageError) {
  const std::string missing = folder_ / "missing.toml";
  const std::string a_folder = folder_ / "folder.toml";
  std::filesystem::create_directory(a_folder);
  for (const auto& [path, why] :
       {std::pair{missing, "no such file; give a .toml file, a preset or a pipeline"},
        std::pair{a_folder, "is a directory; give a file in it"}}) {
    const auto loaded = load_pipeline(path);
    ASSERT_FALSE(loaded);
    EXPECT_EQ(loaded.error().kind, ErrorKind::usage);
    EXPECT_EQ(loaded.error().message, path + ": " + why);
  }
}

TEST_F(PipelineFile, ThatIsTooLargeIsRefused) {
  const auto loaded = load_pipeline(write(std::string(max_pipeline_file + 1, '#')));
  ASSERT_FALSE(loaded);
  EXPECT_THAT(loaded.error().message, HasSubstr("larger than the 1048576 bytes allowed"));
}

TEST_F(PipelineFile, ThatIsEmptyIsRefused) {
  const auto loaded = load_pipeline(write(""));
  ASSERT_FALSE(loaded);
  EXPECT_THAT(loaded.error().message, HasSubstr("no [[stage]] in the file"));
}

}  // namespace
}  // namespace millrace::image
