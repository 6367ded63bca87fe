// Time until a fused kernel can run: compiled, loaded, or found in the cache of an earlier run.
#include "millrace/base/testing/temporary_folder_testing.h"
#include "millrace/image/filters/named_filters.h"
#include "millrace/image/kernel/compiled_kernel.h"
#include "millrace/image/kernel/kernel_library.h"
#include "millrace/image/kernel/kernel_testing.h"

#include <benchmark/benchmark.h>

namespace millrace::image {
namespace {

KernelSpec edges() {  // preset A after its blur
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

// The argument: whether the compiler's process must be started first.
void compiling(benchmark::State& state) {
  const KernelCompilerOptions options;
  KernelCompiler compiler(options, Urgency::urgent);
  const StoppableWait forever;
  for ([[maybe_unused]] auto _ : state) {
    if (state.range(0) != 0) compiler.stop();
    benchmark::DoNotOptimize(compiler.compile(edges(), machine::best_isa(), forever));
  }
}

void loading_an_object(benchmark::State& state) {
  const KernelCompilerOptions options;
  KernelCompiler compiler(options, Urgency::urgent);
  const auto object = compiler.compile(edges(), machine::best_isa(), StoppableWait());
  if (!object) return state.SkipWithError(object.error().error.message.c_str());
  for ([[maybe_unused]] auto _ : state)
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
  for ([[maybe_unused]] auto _ : state) {
    KernelLibrary library(options);
    const auto kernel = library.find(edges(), machine::best_isa());
    if (!kernel || !*kernel) return state.SkipWithError("not in the cache");
  }
}

void looking_for_what_is_not_in_the_cache(benchmark::State& state) {
  const TemporaryFolder folder;
  const KernelLibraryOptions options{.cache = KernelCache(folder.path())};
  for ([[maybe_unused]] auto _ : state) {
    KernelLibrary library(options);
    benchmark::DoNotOptimize(library.find(edges(), machine::best_isa()));
  }
}

BENCHMARK(compiling)->ArgName("starting")->Arg(0)->Arg(1)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(loading_an_object)->Unit(benchmark::kMicrosecond);
BENCHMARK(finding_in_the_cache)->Unit(benchmark::kMicrosecond);
BENCHMARK(looking_for_what_is_not_in_the_cache)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace millrace::image
