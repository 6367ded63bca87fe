// What reading and writing cost: opening to the first frame, and frames per second of each kind.
#include "millrace/video/reader.h"
#include "millrace/video/writer.h"

#include <cstdlib>
#include <filesystem>

#include <benchmark/benchmark.h>

namespace millrace::video {
namespace {

// The folder of real clips: $MILLRACE_SHARED/clips.
std::string clip(const char* name) {
  const char* shared = std::getenv("MILLRACE_SHARED");
  return shared == nullptr ? std::string() : std::string(shared) + "/clips/" + name;
}

void open_to_first_frame(benchmark::State& state, const std::string& input) {
  for ([[maybe_unused]] auto _ : state) {  // NOLINT(clang-analyzer-deadcode.DeadStores)
    auto reader = open_reader(input);
    if (!reader) return state.SkipWithError(reader.error().message.c_str());
    auto frame = (*reader)->next();
    benchmark::DoNotOptimize(frame);
  }
}

void read_frames(benchmark::State& state, const std::string& input) {
  std::int64_t frames = 0;
  for ([[maybe_unused]] auto _ : state) {  // NOLINT(clang-analyzer-deadcode.DeadStores)
    auto reader = open_reader(input);
    if (!reader) return state.SkipWithError(reader.error().message.c_str());
    for (;;) {
      auto frame = (*reader)->next();
      if (!frame) return state.SkipWithError(frame.error().message.c_str());
      if (!*frame) break;
      ++frames;
    }
  }
  state.SetItemsProcessed(frames);
}

void write_frames(benchmark::State& state, const char* extension) {
  const std::string path =
      (std::filesystem::temp_directory_path() / "millrace_video_bench").string() + extension;
  auto source = open_reader("test:1920x1080@1");
  auto frame = source ? (*source)->next() : std::unexpected(source.error());
  if (!frame) return state.SkipWithError(frame.error().message.c_str());
  std::int64_t frames = 0;
  for ([[maybe_unused]] auto _ : state) {  // NOLINT(clang-analyzer-deadcode.DeadStores)
    auto writer = open_writer(path, (*frame)->format(), {.overwrite = Overwrite::yes});
    Status status = writer ? Status{} : std::unexpected(writer.error());
    for (int i = 0; i < 10 && status; ++i, ++frames)
      status = (*writer)->write(**frame);
    if (status) status = (*writer)->finish();
    if (!status) return state.SkipWithError(status.error().message.c_str());
  }
  state.SetItemsProcessed(frames);
  std::filesystem::remove(path);
}

BENCHMARK_CAPTURE(open_to_first_frame, h264_352x288, clip("foreman_cif.264"))->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(open_to_first_frame, h264_1080p, clip("street_1080p.264"))->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(open_to_first_frame, generated_352x288, "test:352x288@1")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(read_frames, h264_352x288, clip("foreman_cif.264"))->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(read_frames, h264_1080p, clip("street_1080p.264"))->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(read_frames, generated_1080p, "test:1920x1080@20")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(write_frames, y4m_1080p, ".y4m")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(write_frames, ffv1_1080p, ".mkv")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(write_frames, h264_1080p, ".mp4")->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace millrace::video
