// The time that a run waits for its profile: opening, querying and closing the store, as a run of 15 ms does
// once.
#include "millrace/base/testing/temporary_folder_testing.h"
#include "millrace/tuning/profile/profile_store.h"

#include <string>

#include <benchmark/benchmark.h>

namespace millrace::tuning {
namespace {

ProfileKey key(std::int64_t number) { return {{"graph", "blur"}, {"number", std::to_string(number)}}; }

// Argument: number of profiles in the store, each with 50 candidates, as in long runs.
void open_and_load(benchmark::State& state) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "profiles.db";
  Profile profile{.plan = "structure=tiled,fusion=pointwise,tile_width=128,tile_height=128,threads=2"};
  for (int candidate = 0; candidate < 50; ++candidate)
    profile.costs.push_back({profile.plan + std::to_string(candidate), 1 + 0.125 * candidate});
  {
    ProfileStore store = ProfileStore::open(path);
    for (std::int64_t number = 0; number < state.range(0); ++number)
      if (!store.save(key(number), profile)) state.SkipWithError("cannot save");
  }
  for ([[maybe_unused]] auto _ : state) {
    ProfileStore store = ProfileStore::open(path);
    benchmark::DoNotOptimize(store.load(key(0)));
  }
}
BENCHMARK(open_and_load)->Arg(0)->Arg(1)->Arg(500)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace millrace::tuning
