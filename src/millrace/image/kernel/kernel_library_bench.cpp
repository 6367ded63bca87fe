// What a fused kernel costs until it can be run: compiled as an object, compiled by Halide's own means, and
// found in the cache of an earlier run.
#include "millrace/base/temporary_folder_testing.h"
#include "millrace/image/filters/named_filters.h"
#include "millrace/image/kernel/compiled_kernel.h"
#include "millrace/image/kernel/kernel_library.h"
#include "millrace/image/kernel/kernel_testing.h"

#include <benchmark/benchmark.h>

namespace millrace::image {
namespace {

KernelSpec edges() {  // preset A behind its blur
  KernelSpec spec;
  const auto add = [&](std::string_view filter, std::vector<int> inputs) {
    spec.stages.push_back({.filter = find_filter(filter), .inputs = std::move(inputs)});
  };
  add("sobel_x", {-1});
  add("sobel_y", {-1});
  add("magnitude", {0, 1});
  add("threshold", {2});
  return spec;
}

void compiling_an_object(benchmark::State& state) {
  for (auto _ : state)
    benchmark::DoNotOptimize(compile_object(edges(), machine::best_isa()));
}

void compiling_just_in_time(benchmark::State& state) {
  // The first of a process compiles Halide's runtime as well.
  benchmark::DoNotOptimize(compile_just_in_time(edges(), machine::best_isa()));
  for (auto _ : state)
    benchmark::DoNotOptimize(compile_just_in_time(edges(), machine::best_isa()));
}

void loading_an_object(benchmark::State& state) {
  const auto object = compile_object(edges(), machine::best_isa());
  if (!object) return state.SkipWithError(object.error().message.c_str());
  for (auto _ : state)
    benchmark::DoNotOptimize(load_kernel(edges(), *object));
  state.counters["bytes"] = static_cast<double>(object->size());
}

void finding_in_the_cache(benchmark::State& state) {
  const TemporaryFolder folder;
  const KernelLibraryOptions options{.cache = KernelCache(folder.path() / "kernels")};
  {
    KernelLibrary library(options);
    if (!library.wait(edges(), machine::best_isa())) return state.SkipWithError("cannot compile");
  }
  for (auto _ : state) {
    KernelLibrary library(options);
    const auto kernel = library.find(edges(), machine::best_isa());
    if (!kernel || !*kernel) return state.SkipWithError("not in the cache");
  }
}

void looking_for_what_is_not_in_the_cache(benchmark::State& state) {
  const TemporaryFolder folder;
  const KernelLibraryOptions options{.cache = KernelCache(folder.path())};
  for (auto _ : state) {
    KernelLibrary library(options);
    benchmark::DoNotOptimize(library.find(edges(), machine::best_isa()));
  }
}

BENCHMARK(compiling_an_object)->Unit(benchmark::kMillisecond);
BENCHMARK(compiling_just_in_time)->Unit(benchmark::kMillisecond);
BENCHMARK(loading_an_object)->Unit(benchmark::kMicrosecond);
BENCHMARK(finding_in_the_cache)->Unit(benchmark::kMicrosecond);
BENCHMARK(looking_for_what_is_not_in_the_cache)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace millrace::image
