#include "millrace/placement/program/known_progress.h"
#include "millrace/placement/trials/progress.h"

#include <gtest/gtest.h>

namespace millrace::placement {
namespace {

struct Output {
  const char* program;
  const char* text;  // as the program writes it
  double frames;
};

class KnownOutput : public testing::TestWithParam<Output> {};

TEST_P(KnownOutput, TellsHowFarTheProgramIs) {
  const auto pattern = known_progress(GetParam().program, {GetParam().program, "in.y4m"});
  ASSERT_TRUE(pattern);
  auto reader = ReportReader::make(*pattern);
  ASSERT_TRUE(reader) << reader.error().message;
  reader->take(GetParam().text, 7);
  ASSERT_TRUE(reader->total());
  EXPECT_EQ(*reader->total(), GetParam().frames);
  EXPECT_EQ(reader->time_ns(), 7);
}

// Copied from their standard error: x264 164, x265 3.5, ffmpeg 5.1, SvtAv1EncApp 1.4.1, dav1d 1.0,
// aomenc 3.6, vpxenc 1.12, rav1e 0.5.
INSTANTIATE_TEST_SUITE_P(
    Programs, KnownOutput,
    testing::Values(
        Output{"x264",
               "x264 [info]: profile High, level 1.3, 4:2:0, 8-bit\n"
               "[1.7%] 1/60 frames, 154.39 fps, 2350.00 kb/s, eta 0:00:00  \r"
               "[71.7%] 43/60 frames, 154.39 fps, 2350.00 kb/s, eta 0:00:00  \r"
               "x264 [info]: frame P:59    Avg QP:24.71  size:  3356\nencoded 60 frames, 308.93 fps, 699.25 "
               "kb/s\n",
               43},
        Output{"x264", "17 frames: 154.39 fps, 2350.00 kb/s  \r", 17},
        Output{"x265",
               "y4m  [info]: 352x288 fps 25/1 i420p8 frames 0 - 399 of 1200\n"
               "[0.2%] 1/400 frames, 24.23 fps, 1437.20 kb/s, eta 0:00:16  \r"
               "[8.5%] 34/400 frames, 113.38 fps, 170.92 kb/s, eta 0:00:03  \r",
               34},
        Output{"ffmpeg",
               "  Stream #0:0 -> #0:0 (wrapped_avframe (native) -> h264 (libx264))\n"
               "frame=    1 fps=0.0 q=0.0 size=N/A time=00:00:00.00 bitrate=N/A speed=   0x    \r"
               "frame=  528 fps=0.0 q=26.0 size=N/A time=00:00:20.96 bitrate=N/A speed=41.9x    \r",
               528},
        Output{"SvtAv1EncApp",
               "Svt[info]: SVT [config]: gop size / mini-gop size / key-frame type \t\t\t: 161 / 32 / key "
               "frame\n"
               "Encoding          \b\b\b\b\b\b\b\b\b        1\b\b\b\b\b\b\b\b\b        2\b\b\b\b\b\b\b\b\b",
               2},
        Output{"SvtAv1EncApp",
               "Encoding frame   16 74.87 kbps 134.52 fps  \rEncoding frame   17 74.88 kbps\r", 17},
        Output{"dav1d",
               "Decoded 1/60 frames (1.7%) - 48.55/25.00 fps (1.94x)\nDecoded 2/60 frames (3.3%) - "
               "61.41/25.00 fps (2.46x)\n",
               2},
        Output{"aomenc",
               "\rPass 1/1 frame    4/3      35287B  199213 us 20.08 fps [ETA  0:00:03]     379F\x1b[K\rPass "
               "1/1 frame    5/4      35666B  209475 us 23.87 fps [ETA  0:00:02]\r",
               4},
        Output{"vpxenc", "\rPass 1/1 frame    4/3          0B   43257 us 92.47 fps [ETA  unknown] \x1b[K\r",
               3},
        Output{"rav1e",
               "\rencoded 2/30 frames, 0.840 fps, 2179.70 Kb/s, est. size: 0.31 MB, est. time: 33s,  elap. "
               "time: 2s     \r",
               2}),
    [](const auto& test) { return std::string(test.param.program) + "_" + std::to_string(test.index); });

TEST(KnownProgress, IsOfNoUseWhereThereIsNone) {
  EXPECT_FALSE(known_progress("cat", {"cat"}));
  EXPECT_FALSE(known_progress("x264", {"x264", "--quiet", "in.y4m"}));
  EXPECT_FALSE(known_progress("ffmpeg", {"ffmpeg", "-v", "error", "-i", "in.mkv"}));
}

TEST(KnownProgress, IsAPatternForEachProgramThatIsKnown) {
  EXPECT_GE(known_programs().size(), 8U);
  for (const KnownProgram& program : known_programs())
    EXPECT_TRUE(ReportReader::make(program.pattern)) << program.name;
}

TEST(KnownProgress, PassesOverLinesThatAreDamaged) {
  const auto programs =
      parse_known_programs("# a\tb\tc\n\nname\nname\tpattern\n\tx\t-\ngood\t([0-9]+)\t-\nlast\tp\ta b");
  ASSERT_EQ(programs.size(), 2U);
  EXPECT_EQ(programs[0].name, "good");
  EXPECT_TRUE(programs[0].silencers.empty());
  EXPECT_EQ(programs[1].silencers, (std::vector<std::string>{"a", "b"}));
}

}  // namespace
}  // namespace millrace::placement
