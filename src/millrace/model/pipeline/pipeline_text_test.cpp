#include "millrace/model/pipeline/pipeline_text.h"
#include "millrace/model/pipeline/pipeline_toml.h"

#include <string>
#include <tuple>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace::model {
namespace {

using testing::HasSubstr;

TEST(PipelineText, SaysEverythingThatAStageCanBe) {
  const auto read =
      parse_pipeline_text("load 0.55ms;seg parallel 20us cv 0.5 outputs 2.25 visits 60% batch 20\n;"
                          " out 1s ordered waits slowdown 0.7%;");
  ASSERT_TRUE(read) << read.error().message;
  ASSERT_EQ(read->stages.size(), 3U);
  const Stage& load = read->stages[0];
  EXPECT_EQ(load.name, "load");
  EXPECT_EQ(load.kind, StageKind::serial);
  EXPECT_DOUBLE_EQ(load.service.mean_seconds(), 0.55e-3);
  EXPECT_EQ(load.service.cv(), 1);
  const Stage& seg = read->stages[1];
  EXPECT_EQ(seg.kind, StageKind::parallel);
  EXPECT_DOUBLE_EQ(seg.service.mean_seconds(), 20e-6);
  EXPECT_EQ(seg.service.cv(), 0.5);
  EXPECT_EQ(seg.outputs, 2.25);
  EXPECT_DOUBLE_EQ(seg.visits, 0.6);
  EXPECT_EQ(seg.batch, 20);
  const Stage& out = read->stages[2];
  EXPECT_EQ(out.kind, StageKind::ordered);
  EXPECT_TRUE(out.waits);
  EXPECT_DOUBLE_EQ(out.slowdown, 0.007);
  const auto demand = demands(*read);
  EXPECT_DOUBLE_EQ(demand[1], 0.6 * 20e-6);
  EXPECT_DOUBLE_EQ(demand[2], 0.6 * 2.25 + 0.4);
}

struct Mistake {
  const char* text;
  const char* message;
};

class Mistakes : public testing::TestWithParam<Mistake> {};

TEST_P(Mistakes, AreNamedWithTheirPlace) {
  const auto read = parse_pipeline_text(GetParam().text);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().kind, ErrorKind::usage);
  EXPECT_THAT(read.error().message, HasSubstr(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(
    Text, Mistakes,
    testing::Values(Mistake{"", "without a stage"}, Mistake{" ; ;", "without a stage"},
                    Mistake{"load 1ms; seg -2ms", "column 15: a negative service time, '-2ms'"},
                    Mistake{"load 1ms; seg", "column 11: stage 'seg' has no service time"},
                    Mistake{"load 1ms 2ms", "column 10: a second service time"},
                    Mistake{"load 1ms seg 2ms", "column 10: 'seg' is neither a time"},
                    Mistake{"load 1 ms", "column 6: '1' is neither a time"}, Mistake{"1ms", "column 1"},
                    Mistake{"load 1ms; seg 1ms cv", "column 19: cv must be followed by a number"},
                    Mistake{"load 1ms; seg 1ms cv -1", "column 22: cv must be a number from 0"},
                    Mistake{"load 1ms; seg 1ms cv nan", "column 22"},
                    Mistake{"load 1ms; seg 1ms batch 0", "column 25: batch"},
                    Mistake{"load 1ms; seg 1ms batch 1.5", "column 25: batch must be a whole number"},
                    Mistake{"load 1ms; seg 1ms visits 2", "column 26: visits"},
                    Mistake{"load 1ms; load 1ms", "column 11: a second stage named 'load'"},
                    Mistake{"load parallel 1ms", "is parallel, but items come into"},
                    Mistake{"load 0ms; seg 0ms", "no stage takes any time"},
                    Mistake{"load 1ms batch 3", "neither batch nor visits"},
                    Mistake{"load 1e400s", "'1e400s' is neither"}));

TEST(PipelineToml, SaysTheSameAsText) {
  const auto read = parse_pipeline_toml(R"(
[[stage]]
name = "load"
time = "0.55ms"
[[stage]]
name = "seg"
kind = "parallel"
time = "20us"
cv = 0.5
outputs = 2
visits = 0.6
batch = 20
[[stage]]
name = "out"
kind = "ordered"
time = "1s"
waits = true
slowdown = 0.007
)",
                                        "p.toml");
  ASSERT_TRUE(read) << read.error().message;
  const auto text = parse_pipeline_text(
      "load 0.55ms; seg 20us cv 0.5 outputs 2 visits 0.6 batch 20; out ordered 1s waits slowdown 0.007");
  ASSERT_TRUE(text);
  ASSERT_EQ(read->stages.size(), text->stages.size());
  for (std::size_t i = 0; i < text->stages.size(); ++i) {
    const Stage& a = read->stages[i];
    const Stage& b = text->stages[i];
    EXPECT_EQ(std::tuple(a.name, a.kind, a.outputs, a.visits, a.batch, a.waits, a.slowdown, a.service.cv()),
              std::tuple(b.name, b.kind, b.outputs, b.visits, b.batch, b.waits, b.slowdown, b.service.cv()));
    EXPECT_EQ(a.service.mean_seconds(), b.service.mean_seconds());
  }
}

class TomlMistakes : public testing::TestWithParam<Mistake> {};

TEST_P(TomlMistakes, AreNamedWithTheirLine) {
  const auto read = parse_pipeline_toml(GetParam().text, "p.toml");
  ASSERT_FALSE(read);
  EXPECT_THAT(read.error().message, HasSubstr(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(
    Toml, TomlMistakes,
    testing::Values(Mistake{"", "no [[stage]]"}, Mistake{"stage = 3", "no [[stage]]"},
                    Mistake{"other = 3", "p.toml:1: unknown key 'other'"},
                    Mistake{"[[stage]]\nname = 'a'", "p.toml:1: stage 'a' has no time"},
                    Mistake{"[[stage]]\ntime = '1ms'", "p.toml:1: this stage has no name"},
                    Mistake{"[[stage]]\nname = 'a'\ntime = 1", "p.toml:3: time must be"},
                    Mistake{"[[stage]]\nname = 'a'\ntime = '-1ms'", "service time"},
                    Mistake{"[[stage]]\nname = 'a'\ntime = '1ms'\nkind = 'odd'", "p.toml:4: kind must be"},
                    Mistake{"[[stage]]\nname = 'a'\ntime = '1ms'\nbatch = 0.5", "batch must be"},
                    Mistake{"[[stage]]\nname = 'a'\ntime = '1ms'\ncv = 'x'", "p.toml:4: cv must be a number"},
                    Mistake{"[[stage]]\nname = 'a'\ntime = '1ms'\nspeed = 1",
                            "p.toml:4: unknown key 'speed'"},
                    Mistake{"[[stage", "p.toml:1: not valid TOML"}));

}  // namespace
}  // namespace millrace::model
