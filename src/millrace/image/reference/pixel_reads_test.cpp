#include "millrace/image/filter/algebra.h"
#include "millrace/image/reference/pixel_reads.h"
#include "millrace/image/reference/reference_testing.h"

#include <deque>

#include <gtest/gtest.h>

namespace millrace::image {
namespace {

PlaneLayout layout_of(const Pipeline& pipeline, Size size) {
  return lay_out_plane(pipeline, gray(size)).value();
}

// A literal implementation of the backward orders: a read computes the requested pixel immediately. With
// `cached`, only the first read of a pixel does.
class Recursion {
 public:
  Recursion(const PlaneLayout& layout, const ScalarImage& source, bool cached) {
    for (const StageLayout& stage : layout.stages) {
      std::vector<Stage*> inputs;
      inputs.reserve(stage.inputs.size());
      for (int input : stage.inputs) {
        inputs.push_back(input == StageLayout::source ? nullptr : &stages_[input]);
      }
      stages_.emplace_back(stage, source, std::move(inputs), cached);
    }
  }

  // Computes the output and counts all reads.
  ScalarImage run() {
    Stage& last = stages_.back();
    ScalarImage image{.size = last.layouts.output.size, .pixels = {}};
    for (int y = 0; y < image.size.height; ++y) {
      for (int x = 0; x < image.size.width; ++x)
        image.pixels.push_back(last.pixel(x, y));
    }
    return image;
  }

  [[nodiscard]] std::vector<double> reads() const {
    std::vector<double> counts;
    counts.reserve(stages_.size());
    for (const Stage& stage : stages_)
      counts.push_back(static_cast<double>(stage.reads));
    return counts;
  }

 private:
  struct Stage final : PixelSource {
    Stage(const StageLayout& stage, const ScalarImage& image, std::vector<Stage*> from, bool cached)
        : layouts(stage), source(image), inputs(std::move(from)),
          algebra(*this, layouts.input, layouts.coefficients) {
      cache.size = layouts.output.size;
      if (cached) {
        cache.pixels.resize(cache.size.pixels());
        valid.resize(cache.pixels.size());
      }
    }

    float read(int input, int x, int y) override {
      ++reads;
      Stage* from = inputs[input];
      return from == nullptr ? source.at(x, y) : from->pixel(x, y);
    }

    float pixel(int x, int y) {
      if (valid.empty()) return layouts.filter->simple().pixel(algebra, x, y);
      const std::size_t index = cache.index(x, y);
      if (!valid[index]) {
        cache.pixels[index] = layouts.filter->simple().pixel(algebra, x, y);
        valid[index] = true;
      }
      return cache.pixels[index];
    }

    const StageLayout& layouts;
    const ScalarImage& source;
    std::vector<Stage*> inputs;
    ScalarAlgebra algebra;
    std::int64_t reads = 0;
    ScalarImage cache;
    std::vector<bool> valid;
  };

  std::deque<Stage> stages_;  // stages point to each other
};

std::vector<double> reads_of(const PixelReads& counted, Structure structure) {
  std::vector<double> reads;
  reads.reserve(counted.stages.size());
  for (const StageReads& stage : counted.stages)
    reads.push_back(stage.in(structure));
  return reads;
}

struct TableRow {
  std::string name;
  double sequential;
  double backward;
  double cached;
};

struct TableEntry {
  char preset;
  std::vector<TableRow> rows;
};

// Tells GoogleTest how to print a row of cases.
void PrintTo(const TableEntry& entry, std::ostream* out) {  // NOLINT(readability-identifier-naming)
  *out << "preset " << entry.preset;
}

class PublishedTable : public testing::TestWithParam<TableEntry> {};

TEST_P(PublishedTable, IsReproducedWithinOnePercentAtItsFrameSize) {
#ifdef MILLRACE_SANITIZED
  GTEST_SKIP() << "SKIPPED: long arithmetic, whose code shorter tests run through";
#endif
  const Size size{1920, 1080};
  const PixelReads counted =
      count_pixel_reads(layout_of(table_pipeline(GetParam().preset), size), noise(size));
  ASSERT_EQ(counted.stages.size(), GetParam().rows.size());
  for (std::size_t s = 0; s < counted.stages.size(); ++s) {
    const TableRow& row = GetParam().rows[s];
    EXPECT_EQ(counted.stages[s].name, row.name);
    const std::array published{row.sequential, row.backward, row.cached};
    for (std::size_t i = 0; i < published.size(); ++i) {
      EXPECT_NEAR(counted.stages[s].per_pixel(counted_structures[i]), published[i], published[i] * 0.01)
          << row.name << ", " << name_of(counted_structures[i]);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Presets, PublishedTable,
    testing::Values(
        TableEntry{'A',
                   {{"blur", 9, 162, 9.03},
                    {"sobel_x", 9, 9, 9},
                    {"sobel_y", 9, 9, 9},
                    {"magnitude", 2, 2, 2},
                    {"threshold", 1, 1, 1}}},
        TableEntry{'B', {{"undistort", 4, 10.24, 2.57}, {"rotate", 3.78, 2.56, 2.56}, {"crop", 1, 1, 1}}},
        TableEntry{'C', {{"undistort", 4, 8.15, 2.04}, {"rotate", 2.59, 2.04, 2.04}, {"crop", 1, 1, 1}}},
        TableEntry{'D', {{"discretise", 1, 1, 1}, {"threshold", 1, 1, 1}, {"binary", 1, 1, 1}}},
        TableEntry{'E',
                   {{"threshold", 1, 3.19, 0.80}, {"binary", 1, 3.19, 0.80}, {"rotate", 3.19, 3.19, 3.19}}},
        TableEntry{'F', {{"threshold", 1, 3.19, 0.80}, {"rotate", 3.19, 3.19, 3.19}, {"binary", 1, 1, 1}}},
        TableEntry{'G', {{"rotate", 3.19, 3.19, 3.19}, {"threshold", 1, 1, 1}, {"binary", 1, 1, 1}}}),
    [](const auto& instance) { return std::string(1, instance.param.preset); });

// Pipelines besides the presets: branches of different depth, stages read twice, crop in the middle.
std::vector<Pipeline> assorted_pipelines() {
  std::vector<Pipeline> pipelines;
  for (char letter = 'A'; letter <= 'G'; ++letter)
    pipelines.push_back(table_pipeline(letter));
  pipelines.push_back(chain({{.filter = "blur"}, {.filter = "blur"}, {.filter = "blur"}}));
  pipelines.push_back(
      chain({{.filter = "crop", .values = {0.5}}, {.filter = "blur"}, {.filter = "rotate", .values = {45}}}));
  pipelines.push_back({.nodes = {node("blur"), node("sobel_x", {}, {0}), node("magnitude", {}, {0, 1})}});
  pipelines.push_back(
      {.nodes = {node("rotate", {200}), node("magnitude", {}, {0, 0}), node("undistort", {0.4, -0.3}, {1}),
                 node("magnitude", {}, {2, Node::source})}});
  return pipelines;
}

class AnyPipeline : public testing::TestWithParam<std::tuple<Size, std::size_t>> {
 protected:
  AnyPipeline()
      : layout_(layout_of(assorted_pipelines()[std::get<1>(GetParam())], std::get<0>(GetParam()))),
        source_(noise(std::get<0>(GetParam()))), counted_(count_pixel_reads(layout_, source_)) {}

  PlaneLayout layout_;
  ScalarImage source_;
  PixelReads counted_;
};

TEST_P(AnyPipeline, CountsWhatTheRecursionReads) {
  Recursion recursion(layout_, source_, false);
  EXPECT_EQ(recursion.run(), scalar_reference(layout_, source_));
  EXPECT_EQ(recursion.reads(), reads_of(counted_, Structure::backward));
}

TEST_P(AnyPipeline, CountsWhatTheRecursionWithCacheReads) {
  Recursion recursion(layout_, source_, true);
  EXPECT_EQ(recursion.run(), scalar_reference(layout_, source_));
  EXPECT_EQ(recursion.reads(), reads_of(counted_, Structure::backward_cached));
}

TEST_P(AnyPipeline, CachedNeverReadsMoreThanTheOthers) {
  for (const StageReads& stage : counted_.stages) {
    EXPECT_LE(stage.per_pixel(Structure::backward_cached), stage.per_pixel(Structure::sequential))
        << stage.name;
    EXPECT_LE(stage.per_pixel(Structure::backward_cached), stage.per_pixel(Structure::backward))
        << stage.name;
  }
}

INSTANTIATE_TEST_SUITE_P(SmallFrames, AnyPipeline,
                         testing::Combine(testing::Values(Size{2, 2}, Size{17, 33}, Size{64, 36}),
                                          testing::Range(std::size_t{0}, assorted_pipelines().size())));

// Counts every read of the figure that shows the cost of recomputing, at its frame size: about 400 million
// reads.
TEST(PixelReads, RecursionReadsTheSourceOfPipelineA162TimesPerPixel) {
#ifdef MILLRACE_SANITIZED
  GTEST_SKIP() << "SKIPPED: long arithmetic, whose code shorter tests run through";
#endif
  const Size size{1920, 1080};
  const PlaneLayout layout = layout_of(table_pipeline('A'), size);
  const ScalarImage source = noise(size);
  Recursion recursion(layout, source, false);
  EXPECT_EQ(recursion.run(), scalar_reference(layout, source));
  EXPECT_EQ(recursion.reads().front(), 162.0 * static_cast<double>(size.pixels()));
  EXPECT_EQ(recursion.reads(), reads_of(count_pixel_reads(layout, source), Structure::backward));
}

TEST(PixelReads, OnePixelIsItsOwnNeighbourhood) {
  const PixelReads counted = count_pixel_reads(layout_of(table_pipeline('A'), {1, 1}), noise({1, 1}));
  EXPECT_EQ(reads_of(counted, Structure::backward), (std::vector<double>{162, 9, 9, 2, 1}));
  EXPECT_EQ(reads_of(counted, Structure::backward_cached), (std::vector<double>{9, 9, 9, 2, 1}));
}

TEST(PixelReads, StagesAfterACropAreRelativeToTheFrameAndTheCropToItself) {
  const Size size{20, 10};
  const PixelReads counted = count_pixel_reads(
      layout_of(chain({{.filter = "crop", .values = {0.5}}, {.filter = "blur"}}), size), noise(size));
  EXPECT_EQ(counted.stages[0].per_pixel(Structure::sequential), 1.0);
  EXPECT_EQ(counted.stages[0].per_pixel(Structure::backward), 9.0);
  EXPECT_EQ(counted.stages[1].per_pixel(Structure::sequential), 2.25);
}

TEST(PixelReads, DeepPipelinesDoNotTakeTheTimeTheyCount) {
  Pipeline deep;
  for (int i = 0; i < 14; ++i)
    deep.nodes.push_back(node("blur", {}, {i - 1}));
  const PixelReads counted = count_pixel_reads(layout_of(deep, {5, 4}), noise({5, 4}));
  EXPECT_EQ(counted.stages[0].per_pixel(Structure::backward), 22876792454961.0);  // 9^14
  EXPECT_EQ(counted.stages[0].per_pixel(Structure::backward_cached), 9.0);
}

}  // namespace
}  // namespace millrace::image
