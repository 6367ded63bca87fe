// Measures reading and writing: time to the first frame, and frames per second of each kind.
#include "millrace/base/descriptor/descriptor.h"
#include "millrace/video/reader.h"
#include "millrace/video/writer.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <optional>
#include <string>
#include <unistd.h>
#include <vector>

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

void write_frames(benchmark::State& state, const char* extension, VideoCodec codec) {
  const std::string path =
      (std::filesystem::temp_directory_path() / "millrace_video_bench").string() + extension;
  auto source = open_reader("test:1920x1080@1");
  auto frame = source ? (*source)->next() : std::unexpected(source.error());
  if (!frame) return state.SkipWithError(frame.error().message.c_str());
  std::int64_t frames = 0;
  for ([[maybe_unused]] auto _ : state) {  // NOLINT(clang-analyzer-deadcode.DeadStores)
    auto writer = open_writer(path, (*frame)->format(), {.overwrite = Overwrite::yes, .codec = codec});
    Status status = writer ? Status{} : std::unexpected(writer.error());
    for (int i = 0; i < 10 && status; ++i, ++frames)
      status = (*writer)->write(**frame);
    if (status) status = (*writer)->finish();
    if (!status) return state.SkipWithError(status.error().message.c_str());
  }
  state.SetItemsProcessed(frames);
  std::filesystem::remove(path);
}

class Y4mFile {
 public:
  Y4mFile() : path_((std::filesystem::temp_directory_path() / "millrace_video_bench.y4m").string()) {
    auto source = open_reader("test:1280x720@60");
    auto writer = source ? open_writer(path_, (*source)->format(), {.overwrite = Overwrite::yes})
                         : std::unexpected(source.error());
    for (Result<std::optional<Frame>> frame; writer && (frame = (*source)->next()) && *frame;)
      if (!(*writer)->write(**frame)) return;
    made_ = writer && (*writer)->finish();
  }
  ~Y4mFile() { std::filesystem::remove(path_); }
  Y4mFile(const Y4mFile&) = delete;
  Y4mFile& operator=(const Y4mFile&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] bool made() const { return made_; }

 private:
  std::string path_;
  bool made_ = false;
};

void read_y4m(benchmark::State& state) {
  const Y4mFile file;
  if (!file.made()) return state.SkipWithError("cannot write a y4m");
  read_frames(state, file.path());
}

// Times read() from a cached file to memory. The argument is how many bytes further in its page the
// destination begins than the source.
void read_blocks(benchmark::State& state) {
  constexpr std::size_t block = 256 << 10;
  constexpr std::size_t page = 4096;
  const Y4mFile file;
  const Descriptor descriptor = Descriptor::owned(open(file.path().c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.made() || !descriptor.is_open()) return state.SkipWithError("cannot write a y4m");
  std::vector<std::byte> memory(block + 2 * page);
  const std::size_t beyond = reinterpret_cast<std::uintptr_t>(memory.data()) % page;
  std::byte* const begin = memory.data() + (page - beyond) + state.range(0);
  std::int64_t bytes = 0;
  for ([[maybe_unused]] auto _ : state) {  // NOLINT(clang-analyzer-deadcode.DeadStores)
    lseek(descriptor.get(), 0, SEEK_SET);
    for (ssize_t count = 0; (count = read(descriptor.get(), begin, block)) > 0;)
      bytes += count;
  }
  state.SetBytesProcessed(bytes);
}

BENCHMARK(read_blocks)->Arg(0)->Arg(16)->Arg(64)->Unit(benchmark::kMillisecond);
BENCHMARK(read_y4m)->Name("read_frames/y4m_720p")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(open_to_first_frame, h264_352x288, clip("foreman_cif.264"))->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(open_to_first_frame, h264_1080p, clip("street_1080p.264"))->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(open_to_first_frame, generated_352x288, "test:352x288@1")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(read_frames, h264_352x288, clip("foreman_cif.264"))->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(read_frames, h264_1080p, clip("street_1080p.264"))->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(read_frames, generated_1080p, "test:1920x1080@20")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(write_frames, y4m_1080p, ".y4m", VideoCodec::automatic)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(write_frames, ffv1_1080p, ".mkv", VideoCodec::ffv1)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(write_frames, h264_1080p, ".mp4", VideoCodec::automatic)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace millrace::video
