// Helpers for tests of schedules: frames of noise with their references, and an executor that must reproduce
// them.
#pragma once

#include "millrace/image/execute/executor.h"
#include "millrace/image/execute/plane_buffer.h"
#include "millrace/image/kernel/kernel_compiler_testing.h"
#include "millrace/image/reference/scalar_reference.h"

#include <bit>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

namespace millrace::image {

// Memory and reference of one frame. All samples are random, so that no pixel is correct by chance.
struct TestFrame {
  FrameLayout layout;
  std::vector<PlaneBuffer> sources;
  std::vector<PlaneBuffer> destinations;
  std::vector<ScalarImage> expected;
  FrameTask task;

  TestFrame(const FrameLayout& frame_plan, unsigned seed) : layout(frame_plan) {
    std::mt19937 random(seed);
    std::map<std::tuple<int, bool, int>, ScalarImage> images;
    for (const SourceFrame& from : layout.sources) {
      const video::FrameFormat& format = from.second ? *layout.second : layout.input;
      for (int p = 0; p < video::plane_count(format.chroma); ++p)
        images[{from.offset, from.second, p}] =
            random_plane(plane_geometry(format, p).size, layout.planes[0].source_type, random);
    }
    for (const PlaneLayout& plane : layout.planes) {
      std::vector<ScalarImage> read;
      for (const SourceFrame& from : plane.sources)
        read.push_back(images.at({from.offset, from.second, from.plane}));
      expected.push_back(scalar_reference(plane, read));
      destinations.emplace_back(plane.output.size, plane.output_type);
    }
    for (const PlaneBuffer& source : sources)
      task.sources.push_back(source.view());
    for (const PlaneBuffer& destination : destinations)
      task.destinations.push_back(destination.view());
  }

  void clear() {
    for (const PixelView& view : task.destinations) {
      for (int y = view.covers.y0; y < view.covers.y1; ++y) {
        std::memset(view.at(0, y), 0xa5, static_cast<std::size_t>(view.covers.width()) * bytes_of(view.type));
      }
    }
  }

  // Describes the first pixel that differs from the reference; empty if none does.
  [[nodiscard]] std::string difference() const {
    for (std::size_t p = 0; p < expected.size(); ++p) {
      const PixelView& view = task.destinations[p];
      for (int y = 0; y < expected[p].size.height; ++y) {
        for (int x = 0; x < expected[p].size.width; ++x) {
          const float wanted = expected[p].at(x, y);
          float got = 0;
          switch (view.type) {
          case ElementType::u8:
            got = view.pixel<std::uint8_t>(x, y);
            break;
          case ElementType::u16:
            got = view.pixel<std::uint16_t>(x, y);
            break;
          case ElementType::f32:
            got = view.pixel<float>(x, y);
            break;
          }
          if (std::bit_cast<std::uint32_t>(wanted) != std::bit_cast<std::uint32_t>(got)) {
            return fmt::format("plane {} ({}, {}): {} instead of {}", p, x, y, got, wanted);
          }
        }
      }
    }
    return {};
  }

 private:
  // A source plane in memory, and its values as floats.
  ScalarImage random_plane(Size size, ElementType type, std::mt19937& random) {
    ScalarImage image{.size = size, .pixels = std::vector<float>(size.pixels())};
    PlaneBuffer& source = sources.emplace_back(size, type);
    const int codes = 1 << layout.input.bits;
    for (int y = 0; y < size.height; ++y) {
      for (int x = 0; x < size.width; ++x) {
        const auto code = static_cast<float>(random() % static_cast<unsigned>(codes));
        float& value = image.pixels[image.index(x, y)];
        switch (type) {
        case ElementType::u8:
          source.view().pixel<std::uint8_t>(x, y) = static_cast<std::uint8_t>(code);
          value = code;
          break;
        case ElementType::u16:
          source.view().pixel<std::uint16_t>(x, y) = static_cast<std::uint16_t>(code);
          value = code;
          break;
        case ElementType::f32:
          value = code / static_cast<float>(codes - 1);
          source.view().pixel<float>(x, y) = value;
          break;
        }
      }
    }
    return image;
  }
};

inline constexpr int structure_workers = 3;

class Structures : public ::testing::Test {
 protected:
  void SetUp() override {
    auto topology = machine::Topology::live();
    ASSERT_TRUE(topology) << topology.error().message;
    topology_.emplace(std::move(*topology));
    auto pool = pool::WorkerPool::create(structure_workers);
    ASSERT_TRUE(pool) << pool.error().message;
    pool_ = std::move(*pool);
  }

  // Processes the frames with the schedule and compares the results.
  void expect_reference(TestFrame& frame, const Schedule& schedule) {
    SCOPED_TRACE(fmt::format("{} on {}", to_string(schedule), video::to_string(frame.layout.input)));
    Executor executor(*pool_, library_, *topology_, topology_->cpus());
    executor.time_stages_every(1);
    if (const Status set = executor.set(frame.layout, schedule); !set) FAIL() << set.error().message;
    if (const Status ready = executor.await_kernels(); !ready) FAIL() << ready.error().message;
    // Twice, because a frame must not affect the next one.
    for (int repeat = 0; repeat < 2; ++repeat) {
      frame.clear();
      if (const Status done = executor.run({&frame.task, 1}); !done) FAIL() << done.error().message;
      ASSERT_EQ(frame.difference(), "");
    }
  }

  std::optional<machine::Topology> topology_;
  std::unique_ptr<pool::WorkerPool> pool_;
  KernelLibrary library_;
};

inline std::vector<machine::Isa> isas_here() {
#ifdef MILLRACE_SANITIZED
  return {machine::best_isa()};  // kernels are not instrumented: sanitizers check the executor
#else
  std::vector<machine::Isa> isas;
  for (machine::Isa isa : machine::all_isas()) {
    if (machine::can_run(isa)) isas.push_back(isa);
  }
  return isas;
#endif
}

}  // namespace millrace::image
