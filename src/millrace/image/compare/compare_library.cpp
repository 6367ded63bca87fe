// The library for compare.py and filters_compare.py: a C interface to the structures and Halide's
// autoschedulers, so that they run in one process with OpenCV. Functions that fail return 0 or nullptr and
// set last_error().
#include "millrace/base/error/clock.h"
#include "millrace/image/compare/autoscheduled.h"
#include "millrace/image/compare/limit.h"
#include "millrace/image/execute/executor.h"
#include "millrace/image/execute/plane_buffer.h"
#include "millrace/image/pipeline/presets.h"

#include <cmath>
#include <cstring>

using namespace millrace;

namespace {

std::string& error_text() {
  static std::string text;
  return text;
}

template <class T> bool failed(const Result<T>& result) {
  if (!result) error_text() = result.error().message;
  return !result;
}

Result<image::FrameLayout> layout_of(const char* pipeline, int width, int height,
                                     image::Samples samples = image::Samples::floats) {
  auto loaded = image::load_pipeline(pipeline);
  if (!loaded) return std::unexpected(loaded.error());
  const video::FrameFormat format{.width = width, .height = height, .chroma = video::Chroma::gray};
  return image::lay_out_frame(*loaded, format, image::Planes::all, samples, format);
}

// One pipeline on a picture in memory, with any structure. Other frames and the second video are separate
// copies of the picture.
struct Ours {
  machine::Topology topology;
  std::unique_ptr<pool::WorkerPool> pool;
  image::KernelLibrary library;
  image::FrameLayout layout;
  std::vector<image::PlaneBuffer> sources;
  image::PlaneBuffer destination;
  image::FrameTask task;
  std::unique_ptr<image::Executor> executor;
  machine::Isa isa = machine::best_isa();
};

Ours* open_ours(Result<image::FrameLayout> layout, int threads, const void* pixels) {
  auto topology = machine::Topology::live();
  auto pool = pool::WorkerPool::create(threads);
  if (failed(layout) || failed(topology) || failed(pool)) return nullptr;
  const image::PlaneLayout& plane = layout->planes[0];
  const image::Size input = plane.source.size;
  auto ours = std::make_unique<Ours>(std::move(*topology), std::move(*pool));
  ours->destination = image::PlaneBuffer(plane.output.size, plane.output_type);
  const std::size_t row = static_cast<std::size_t>(input.width) * image::bytes_of(plane.source_type);
  for (std::size_t k = 0; k < layout->sources.size(); ++k) {
    const image::PixelView source = ours->sources.emplace_back(input, plane.source_type).view();
    for (int y = 0; y < input.height; ++y)
      std::memcpy(source.at(0, y), static_cast<const std::byte*>(pixels) + row * y, row);
    ours->task.sources.push_back(source);
  }
  ours->task.destinations.push_back(ours->destination.view());
  ours->layout = std::move(*layout);
  ours->executor =
      std::make_unique<image::Executor>(*ours->pool, ours->library, ours->topology, ours->topology.cpus());
  ours->executor->time_stages_every(0);
  return ours.release();
}

struct Halides {
  std::vector<float> source;
  std::vector<float> destination;
  image::Autoscheduled pipeline;
};

}  // namespace

extern "C" {

const char* last_error() { return error_text().c_str(); }

void output_size(const char* pipeline, int width, int height, int* out_width, int* out_height) {
  const auto layout = layout_of(pipeline, width, height);
  *out_width = failed(layout) ? 0 : layout->output.width;
  *out_height = layout ? layout->output.height : 0;
}

Ours* ours_open(const char* pipeline, int width, int height, int threads, const float* pixels) {
  return open_ours(layout_of(pipeline, width, height), threads, pixels);
}

// The same on 8-bit code values.
Ours* ours_open_codes(const char* pipeline, int width, int height, int threads, const std::uint8_t* codes) {
  return open_ours(layout_of(pipeline, width, height, image::Samples::codes), threads, codes);
}

// Instruction set for schedules set from now on; must be supported by this processor. Default: the best one.
int ours_use_isa(Ours* ours, const char* isa) {
  const auto parsed = machine::parse_isa(isa);
  if (failed(parsed)) return 0;
  if (!machine::can_run(*parsed)) {
    error_text() = fmt::format("this processor has no {}", isa);
    return 0;
  }
  ours->isa = *parsed;
  return 1;
}

// tile: "128x32". Compiles missing kernels.
int ours_set(Ours* ours, const char* structure, const char* fusion, const char* tile, int threads) {
  const auto parsed_structure = image::parse_structure(structure);
  const auto parsed_fusion = image::parse_fusion(fusion);
  const auto parsed_tile = image::parse_tile(tile);
  if (failed(parsed_structure) || failed(parsed_fusion) || failed(parsed_tile)) return 0;
  if (failed(ours->executor->set(ours->layout, {.structure = *parsed_structure,
                                                .fusion = *parsed_fusion,
                                                .tile = *parsed_tile,
                                                .threads = threads,
                                                .isa = ours->isa})))
    return 0;
  return failed(ours->executor->await_kernels()) ? 0 : 1;
}

// Nanoseconds for `times` frames; 0 on failure.
long ours_run(Ours* ours, int times) {
  const std::int64_t start = now_ns();
  for (int i = 0; i < times; ++i) {
    if (failed(ours->executor->run({&ours->task, 1}))) return 0;
  }
  return now_ns() - start;
}

void ours_result(const Ours* ours, float* pixels) {
  const image::PixelView view = ours->destination.view();
  for (int y = 0; y < view.covers.height(); ++y) {
    std::memcpy(pixels + std::ptrdiff_t{y} * view.covers.width(), view.at(0, y),
                sizeof(float) * view.covers.width());
  }
}

void ours_close(Ours* ours) { delete ours; }

// Nanoseconds for copying `times` frames; 0 on failure.
long ours_copy(Ours* ours, int times) {
  const auto ns =
      image::copy_ns(ours->pool->team(), ours->task.sources[0], ours->task.destinations[0], times);
  return failed(ns) ? 0 : std::lround(*ns);
}

// The arithmetic of a fusion whose kernels were made available by a schedule. Free it with arithmetic_close.
image::TileArithmetic* ours_arithmetic(Ours* ours, const char* fusion) {
  const auto parsed = image::parse_fusion(fusion);
  if (failed(parsed)) return nullptr;
  auto arithmetic = image::TileArithmetic::create(ours->layout.planes[0], *parsed, ours->library, ours->isa,
                                                  ours->pool->size());
  return failed(arithmetic) ? nullptr : new image::TileArithmetic(std::move(*arithmetic));
}

long arithmetic_run(Ours* ours, image::TileArithmetic* arithmetic, int times) {
  const auto ns = arithmetic->run_ns(ours->pool->team(), times);
  return failed(ns) ? 0 : std::lround(*ns);
}

void arithmetic_close(image::TileArithmetic* arithmetic) { delete arithmetic; }

Halides* halide_open(const char* pipeline, int width, int height, const char* scheduler, int threads,
                     long cache_bytes, const float* pixels) {
  const auto layout = layout_of(pipeline, width, height);
  if (failed(layout)) return nullptr;
  auto compiled = image::Autoscheduled::compile(layout->planes[0], scheduler, threads, cache_bytes);
  if (failed(compiled)) return nullptr;
  const std::size_t size = std::size_t(width) * height;
  return new Halides{.source = std::vector<float>(pixels, pixels + size),
                     .destination = std::vector<float>(layout->planes[0].output.size.pixels()),
                     .pipeline = std::move(*compiled)};
}

long halide_run(Halides* halide, int times) {
  const std::int64_t start = now_ns();
  for (int i = 0; i < times; ++i)
    halide->pipeline.run(halide->source.data(), halide->destination.data());
  return now_ns() - start;
}

void halide_result(const Halides* halide, float* pixels) { std::ranges::copy(halide->destination, pixels); }

void halide_close(Halides* halide) { delete halide; }

}  // extern "C"
