// A caller turns frames of one video into another one, which inherits the video's other streams and
// properties.
#include "millrace/api/api_testing.h"
#include "millrace/api/millrace.h"
#include "millrace/base/testing/temporary_folder_testing.h"

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace::api::testing {
namespace {

using ::testing::HasSubstr;

std::string said_by(const std::string& command) {
  std::string said;
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> pipe(popen((command + " </dev/null").c_str(), "r"),
                                                             &pclose);
  std::array<char, 4096> some{};
  while (pipe) {
    const std::size_t count = std::fread(some.data(), 1, some.size(), pipe.get());
    if (count == 0) break;
    said.append(some.data(), count);
  }
  return said;
}

class OriginTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (std::system("ffmpeg -version >/dev/null 2>&1") != 0) GTEST_SKIP() << "no ffmpeg program";
    ASSERT_EQ(std::system(("ffmpeg -v error -y -f lavfi -i testsrc2=s=64x48:r=30:d=2 -f lavfi -i sine=d=2 "
                           "-c:v libx264 -g 10 -pix_fmt yuv420p -color_primaries bt709 -color_trc bt709 "
                           "-colorspace bt709 -color_range pc -aspect 2:1 -c:a aac -metadata title=hello '" +
                           source_ + "' </dev/null")
                              .c_str()),
              0);
  }

  // Pulls the source's frames one by one, and writes those whose number satisfies `wanted` to another file.
  void loop(const std::string& output, bool (*wanted)(int), const char* no_audio = "false") {
    const OwnRun reading("crop(1)");
    OK(millrace_run_input(reading.handle, source_.c_str()));
    OK(millrace_run_output_frames(reading.handle));
    OK(millrace_run_start(reading.handle));
    millrace_origin* origin = nullptr;
    OK(millrace_run_origin(reading.handle, &origin));
    const OwnRun writing("crop(1)");
    OK(millrace_run_input_frames_like(writing.handle, origin));
    OK(millrace_origin_free(origin));
    OK(millrace_run_set(writing.handle, "codec", "ffv1"));
    OK(millrace_run_set(writing.handle, "no-audio", no_audio));
    OK(millrace_run_output(writing.handle, output.c_str()));
    OK(millrace_run_start(writing.handle));
    for (int number = 0;; ++number) {
      millrace_frame frame = MILLRACE_FRAME;
      millrace_frame_memory* memory = nullptr;
      const millrace_code taken = millrace_run_take(reading.handle, &frame, &memory, -1);
      if (taken == MILLRACE_END) break;
      ASSERT_EQ(taken, MILLRACE_OK) << millrace_error();
      if (wanted(number)) {
        OK(millrace_run_push(writing.handle, &frame, -1));
      }
      millrace_frame_memory_free(memory);
    }
    OK(millrace_run_end(writing.handle));
    OK(millrace_run_wait(writing.handle, -1));
  }

  // From file to file.
  void run(const std::string& output) {
    const OwnRun run("crop(1)");
    OK(millrace_run_input(run.handle, source_.c_str()));
    OK(millrace_run_set(run.handle, "codec", "ffv1"));
    OK(millrace_run_output(run.handle, output.c_str()));
    OK(millrace_run_start(run.handle));
    OK(millrace_run_wait(run.handle, -1));
  }

  // Output of ffprobe and ffmpeg for a file: tags and shape of the video, tags of the file, and all packets
  // of sound.
  static std::string about(const std::string& file) {
    return said_by("ffprobe -v error -show_entries stream=codec_type,codec_name,width,height,"
                   "sample_aspect_ratio,color_range,color_space,color_transfer,color_primaries,"
                   "r_frame_rate:format_tags=title '" +
                   file + "'") +
           said_by("ffmpeg -v error -i '" + file + "' -map 0:a? -c copy -f framemd5 -");
  }

  // Start of the first and the last packet of a kind ("v", "a"), in seconds; {} if there are none.
  static std::vector<double> times(const std::string& file, const std::string& kind) {
    std::istringstream said(said_by("ffprobe -v error -select_streams " + kind +
                                    " -show_entries packet=pts_time -of csv=p=0 '" + file + "'"));
    std::vector<double> all;
    for (std::string line; std::getline(said, line);)
      if (!line.empty()) all.push_back(std::atof(line.c_str()));
    return all;
  }

  TemporaryFolder folder_;
  std::string source_ = folder_ / "in.mp4";
};

TEST_F(OriginTest, FramesInALoopKeepWhatARunFromFileToFileKeeps) {
  const std::string looped = folder_ / "loop.mkv";
  const std::string direct = folder_ / "run.mkv";
  loop(looped, [](int) { return true; });
  run(direct);
  EXPECT_EQ(about(looped), about(direct));
  for (const char* const word :
       {"color_range=pc", "color_primaries=bt709", "title=hello", "codec_type=audio"})
    EXPECT_THAT(about(looped), HasSubstr(word));
  EXPECT_EQ(times(looped, "v"), times(direct, "v"));
  EXPECT_EQ(times(looped, "a"), times(direct, "a"));
}

TEST_F(OriginTest, SoundIsLeftOutWhereTheOptionSaysSo) {
  const std::string looped = folder_ / "loop.mkv";
  loop(looped, [](int) { return true; }, "true");
  EXPECT_TRUE(times(looped, "a").empty());
  EXPECT_THAT(about(looped), HasSubstr("title=hello"));
}

TEST_F(OriginTest, SoundGoesAsFarAsTheFramesThatWereWritten) {
  const std::string looped = folder_ / "part.mkv";
  loop(looped, [](int number) { return number >= 20 && number < 40; });
  const std::vector<double> video = times(looped, "v");
  const std::vector<double> audio = times(looped, "a");
  ASSERT_EQ(video.size(), 20U);
  ASSERT_FALSE(audio.empty());
  EXPECT_NEAR(video.front(), 20 / 30.0, 0.002);
  EXPECT_GE(audio.front(), video.front() - 0.03);
  EXPECT_LE(audio.front(), video.front() + 0.03);
  EXPECT_LE(audio.back(), video.back() + 0.05);
  EXPECT_GE(audio.back(), video.back() - 0.05);
}

TEST_F(OriginTest, TimesOfFramesAreToldWithoutDecodingThem) {
  const int64_t* shown = nullptr;
  int64_t count = 0;
  int32_t base[2] = {0, 0};
  OK(millrace_frame_times(source_.c_str(), nullptr, nullptr, &shown, &count, base));
  std::istringstream said(
      said_by("ffprobe -v error -select_streams v -show_entries frame=pts -of csv=p=0 '" + source_ + "'"));
  std::vector<int64_t> decoded;
  for (std::string line; std::getline(said, line);)
    if (!line.empty()) decoded.push_back(std::atoll(line.c_str()));
  EXPECT_EQ(std::vector<int64_t>(shown, shown + count), decoded);
  EXPECT_EQ(decoded.size(), 60U);
  for (const char* const other : {"test:64x48@3", "/nowhere/at.all"}) {
    EXPECT_EQ(millrace_frame_times(other, nullptr, nullptr, &shown, &count, base), MILLRACE_FAILURE) << other;
    EXPECT_THAT(millrace_error(), HasSubstr(other));
  }
}

}  // namespace
}  // namespace millrace::api::testing
