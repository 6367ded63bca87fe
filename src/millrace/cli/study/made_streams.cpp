#include "millrace/cli/study/made_streams.h"

#include "millrace/cli/study/program_run.h"

#include <cstdlib>
#include <string_view>
#include <system_error>
#include <unistd.h>

#include <fmt/format.h>

namespace millrace::cli {
namespace {

using report::Decoder;
using report::DecoderStream;

constexpr int frames_apart = 30;  // offset between streams of the same clip

std::vector<std::string> source_of(const std::vector<std::string>& clips, const DecoderStream& stream) {
  const auto number = static_cast<std::size_t>(stream.number - 1);
  const std::string frames = std::to_string(stream.frames);
  if (clips.empty()) {
    // Moving bars and a counter, a zoom into a fractal, and a cellular automaton, with film grain.
    constexpr std::string_view pictures[] = {
        "testsrc2=size={0}x{1}:rate=25", "mandelbrot=size={0}x{1}:rate=25",
        "life=size={0}x{1}:rate=25:mold=10:ratio=0.3:death_color=#C83232"};
    const std::string picture =
        fmt::format(fmt::runtime(pictures[number % std::size(pictures)]), stream.width, stream.height);
    return {"-f",        "lavfi",
            "-i",        picture + ",noise=alls=6:allf=t:all_seed=" + std::to_string(stream.number),
            "-frames:v", frames};
  }
  const std::size_t first = number / clips.size() * frames_apart;
  // Repeated frames are kept in memory after scaling, because not every format can be read again.
  return {
      "-i",
      clips[number % clips.size()],
      "-map",
      "0:v:0",
      "-vf",
      fmt::format("scale={}:{}:flags=bicubic,loop=loop=-1:size={},select=gte(n\\,{}),setsar=1,setpts=N/25/TB",
                  stream.width, stream.height, first + static_cast<std::size_t>(stream.frames), first),
      "-r",
      "25",
      "-frames:v",
      frames};
}

std::vector<std::string> coding_of(Decoder decoder) {
  if (decoder == Decoder::ffmpeg)
    return {"-c:v", "libx264", "-preset",      "medium",   "-profile:v", "baseline",
            "-crf", "23",      "-x264-params", "slices=4", "-f",         "h264"};
  return {"-c:v", "libsvtav1", "-preset", "10", "-crf", "35", "-svtav1-params", "tile-rows=1:tile-columns=1",
          "-f",   "ivf"};
}

}  // namespace

bool is_installed(const std::string& program) {
  const char* path = std::getenv("PATH");  // NOLINT(concurrency-mt-unsafe): nothing sets it
  std::string_view rest = path == nullptr ? "/usr/bin:/bin" : path;
  while (true) {
    const std::string_view folder = rest.substr(0, rest.find(':'));
    const std::filesystem::path file = std::filesystem::path(folder.empty() ? "." : folder) / program;
    std::error_code error;
    if (std::filesystem::is_regular_file(file, error) && access(file.c_str(), X_OK) == 0) return true;
    if (folder.size() == rest.size()) return false;
    rest.remove_prefix(folder.size() + 1);
  }
}

std::filesystem::path stream_file(const std::filesystem::path& folder, const DecoderStream& stream,
                                  Decoder decoder) {
  return folder / fmt::format("{}.{}", stream.number, decoder == Decoder::ffmpeg ? "264" : "ivf");
}

Status make_coded_stream(const std::filesystem::path& folder, const std::vector<std::string>& clips,
                         const DecoderStream& stream, Decoder decoder, const Interrupt& interrupt) {
  std::vector<std::string> words = {"ffmpeg", "-nostdin", "-hide_banner", "-v", "error", "-y"};
  for (const auto& part :
       {source_of(clips, stream), std::vector<std::string>{"-pix_fmt", "yuv420p", "-an"}, coding_of(decoder)})
    words.insert(words.end(), part.begin(), part.end());
  words.push_back(stream_file(folder, stream, decoder));
  const auto made = run_program(words, {}, folder, interrupt);
  return made ? Status() : std::unexpected(made.error());
}

}  // namespace millrace::cli
