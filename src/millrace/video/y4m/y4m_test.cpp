#include "millrace/video/video_testing.h"
#include "millrace/video/y4m/y4m_header.h"
#include "millrace/video/y4m/y4m_reader.h"

#include <array>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

namespace millrace::video {
namespace {

using ::testing::HasSubstr;
using namespace millrace::video::testing;

Delivered read_bytes(const std::string& bytes) {
  auto source = std::make_unique<MemorySource>(std::as_bytes(std::span(bytes)));
  auto reader = open_y4m_reader(std::move(source), {});
  if (!reader) return {{}, reader.error()};
  return read_all(**reader);
}

class Y4mFormat : public ::testing::TestWithParam<std::tuple<Layout, int, const char*>> {
 protected:
  std::string source() const {
    const auto& [layout, bits, size] = GetParam();
    return fmt::format("test:{}@3,{}p{},fps=30000/1001{}", size, layout.name, bits,
                       bits % 4 == 0 ? ",full" : "");
  }
};

TEST_P(Y4mFormat, ComesBackAsItWasWritten) {
  TemporaryFolder folder;
  const Delivered original = read_all(source());
  ASSERT_EQ(original.frames.size(), 3U);
  ASSERT_TRUE(write_all(folder / "a.y4m", original.frames));
  auto reader = open_reader(folder / "a.y4m");
  ASSERT_TRUE(reader) << reader.error().message;
  EXPECT_EQ((*reader)->format(), original.frames[0].format());
  EXPECT_EQ((*reader)->frame_count_hint(), 3);
  const Delivered back = read_all(**reader);
  ASSERT_FALSE(back.error) << back.error->message;
  ASSERT_EQ(back.frames.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i)
    EXPECT_TRUE(same_samples(back.frames[i], original.frames[i]));
}

INSTANTIATE_TEST_SUITE_P(Formats, Y4mFormat,
                         ::testing::Combine(::testing::ValuesIn(layouts),
                                            ::testing::Values(8, 9, 10, 12, 14, 16),
                                            ::testing::Values("1x1", "17x33", "64x2", "640x448")),
                         [](const auto& test) {
                           return fmt::format("{}p{}_{}", std::get<0>(test.param).name,
                                              std::get<1>(test.param), std::get<2>(test.param));
                         });

class Y4mForFfmpeg : public Y4mFormat {};

TEST_P(Y4mForFfmpeg, IsReadByItWithTheSameSamples) {
  if (!have_program("ffmpeg")) GTEST_SKIP() << "no ffmpeg program";
  TemporaryFolder folder;
  const Delivered original = read_all(source());
  ASSERT_TRUE(write_all(folder / "a.y4m", original.frames));
  const std::string raw =
      output_of("ffmpeg -v error -i '" + (folder / "a.y4m") + "' -f rawvideo - </dev/null");
  // Without header lines, our file is the raw samples.
  std::string expected;
  const std::vector<char> file = file_bytes(folder / "a.y4m");
  auto at = std::ranges::find(file, '\n') + 1;
  const auto bytes = static_cast<std::ptrdiff_t>(packed_bytes(original.frames[0].format()));
  for (; at != file.end(); at += 6 + bytes)
    expected.append(at + 6, at + 6 + bytes);
  EXPECT_TRUE(raw == expected) << raw.size() << " bytes, not " << expected.size();
}

const auto y4m_name = [](const auto& test) {
  return fmt::format("{}p{}", std::get<0>(test.param).name, std::get<1>(test.param));
};
INSTANTIATE_TEST_SUITE_P(Color, Y4mForFfmpeg,
                         ::testing::Combine(::testing::ValuesIn(std::span(layouts).subspan(1)),
                                            ::testing::Values(8, 9, 10, 12, 14, 16),
                                            ::testing::Values("17x33")),
                         y4m_name);
// FFmpeg has no name for 14 bit gray.
INSTANTIATE_TEST_SUITE_P(Gray, Y4mForFfmpeg,
                         ::testing::Combine(::testing::Values(layouts[0]),
                                            ::testing::Values(8, 9, 10, 12, 16), ::testing::Values("17x33")),
                         y4m_name);

TEST(Y4mHeader, RoundTripsAnyFormat) {
  std::mt19937 random(3);
  for (int round = 0; round < 2000; ++round) {
    FrameFormat format;
    format.width = 1 + static_cast<int>(random() % max_dimension);
    format.height = 1 + static_cast<int>(random() % max_dimension);
    format.chroma = static_cast<Chroma>(random() % 4);
    format.bits = 8 + static_cast<int>(random() % 9);
    format.range = static_cast<ColorRange>(random() % 3);
    if (format.chroma == Chroma::c420 && format.bits == 8)
      format.chroma_location = std::array{0, 1, 3}[random() % 3];
    format.rate_numerator = 1 + static_cast<int>(random() % 100000);
    format.rate_denominator = 1 + static_cast<int>(random() % 2000);
    if (random() % 2 == 0) {
      format.aspect_numerator = 1 + static_cast<int>(random() % 300);
      format.aspect_denominator = 1 + static_cast<int>(random() % 300);
    }
    static constexpr FieldOrder orders[] = {FieldOrder::unspecified, FieldOrder::top_first,
                                            FieldOrder::bottom_first};
    format.field_order = orders[random() % 3];
    const std::string line = y4m_header(format);
    const auto parsed = parse_y4m_header(line);
    ASSERT_TRUE(parsed) << line << ": " << parsed.error().message;
    EXPECT_EQ(*parsed, format) << line;
  }
}

TEST(Y4mHeader, UnderstandsWhatOtherProgramsWrite) {
  const auto format = [](std::string_view line) { return *parse_y4m_header(line); };
  const FrameFormat plain{.width = 4, .height = 2};
  EXPECT_EQ(format("YUV4MPEG2 W4 H2"), plain);
  EXPECT_EQ(format("YUV4MPEG2 W4 H2 F25:1 Ip A0:0 C420jpeg XYSCSS=420JPEG"), plain);
  FrameFormat sited = plain;
  sited.chroma_location = 3;
  EXPECT_EQ(format("YUV4MPEG2 W4  H2 F0:0 C420paldv "), sited);
  sited.chroma_location = 1;
  sited.range = ColorRange::limited;
  sited.field_order = FieldOrder::top_first;
  EXPECT_EQ(format("YUV4MPEG2 C420mpeg2 H2 W4 It XCOLORRANGE=LIMITED"), sited);
  EXPECT_EQ(format("YUV4MPEG2 W4 H2 Cmono").range, ColorRange::unspecified);
  EXPECT_EQ(format("YUV4MPEG2 W4 H2 Cmono XCOLORRANGE=FULL").range, ColorRange::full);
  EXPECT_EQ(format("YUV4MPEG2 W4 H2 Cmono10 XCOLORRANGE=LIMITED").bits, 10);
  EXPECT_EQ(format("YUV4MPEG2 W4 H2 C444p12").bits, 12);
}

struct BadLine {
  const char* line;
  const char* says;
};
class BadY4mHeader : public ::testing::TestWithParam<BadLine> {};

TEST_P(BadY4mHeader, IsAnErrorThatNamesTheField) {
  const auto format = parse_y4m_header(GetParam().line);
  ASSERT_FALSE(format);
  EXPECT_THAT(format.error().message, HasSubstr(GetParam().says));
}

INSTANTIATE_TEST_SUITE_P(
    Lines, BadY4mHeader,
    ::testing::Values(
        BadLine{"", "YUV4MPEG2"}, BadLine{"YUV4MPEG W4 H4", "YUV4MPEG2"},
        BadLine{"YUV4MPEG2W4 H4", "YUV4MPEG2"}, BadLine{"YUV4MPEG2 H4", "width"},
        BadLine{"YUV4MPEG2 W4", "height"}, BadLine{"YUV4MPEG2 W0 H4", "width '0'"},
        BadLine{"YUV4MPEG2 W-4 H4", "width '-4'"}, BadLine{"YUV4MPEG2 W4x H4", "width '4x'"},
        BadLine{"YUV4MPEG2 W4 H32769", "height '32769'"}, BadLine{"YUV4MPEG2 W99999999999999 H4", "width"},
        BadLine{"YUV4MPEG2 W4 H4 F25", "frame rate"}, BadLine{"YUV4MPEG2 W4 H4 Fa:b", "frame rate"},
        BadLine{"YUV4MPEG2 W4 H4 A1:", "aspect"}, BadLine{"YUV4MPEG2 W4 H4 C411", "411"},
        BadLine{"YUV4MPEG2 W4 H4 C444alpha", "444alpha"}, BadLine{"YUV4MPEG2 W4 H4 C420p17", "420p17"},
        BadLine{"YUV4MPEG2 W4 H4 C420p7", "420p7"}, BadLine{"YUV4MPEG2 W4 H4 Cmonop10", "monop10"},
        BadLine{"YUV4MPEG2 W4 H4 C", "''"}));

TEST(Y4mReader, AcceptsParametersInFrameLines) {
  const Delivered delivered = read_bytes("YUV4MPEG2 W2 H1 Cmono\nFRAME\nabFRAME Ip XA=B\ncd");
  ASSERT_FALSE(delivered.error) << delivered.error->message;
  ASSERT_EQ(delivered.frames.size(), 2U);
  EXPECT_EQ(delivered.frames[1].plane(0).row<char>(0)[1], 'd');
}

TEST(Y4mReader, DeliversNoFramesOfAHeaderAlone) {
  const Delivered delivered = read_bytes("YUV4MPEG2 W2 H1 Cmono\n");
  EXPECT_FALSE(delivered.error);
  EXPECT_TRUE(delivered.frames.empty());
}

TEST(Y4mReader, NamesTheFrameThatIsCutOrDamaged) {
  const std::string two = "YUV4MPEG2 W2 H1 Cmono\nFRAME\nabFRAME\ncd";
  const auto expect = [](const std::string& bytes, std::size_t frames, const char* says) {
    const Delivered delivered = read_bytes(bytes);
    EXPECT_EQ(delivered.frames.size(), frames);
    ASSERT_TRUE(delivered.error);
    EXPECT_THAT(delivered.error->message, HasSubstr(fmt::format("memory: frame {}: {}", frames, says)));
  };
  expect(two + "FRAME\ne", 2, "is truncated");
  expect(two + "FRAME\n", 2, "is truncated");
  expect(two + "FRA", 2, "is truncated");
  expect(two + "FRAMES\nef", 2, "is damaged");
  expect(two + std::string(5, '\0') + "\n", 2, "is damaged");
  expect(two + std::string(5000, 'x'), 2, "is damaged");
  expect(std::string("YUV4MPEG2 W1 H1 Cmono10\nFRAME\n\x01\x02"
                     "FRAME\n\x01\x04"),
         1, "is damaged: has samples");
}

// Planes with and without the memory layout of the file, far larger and far smaller than the read-ahead
// buffer.
class Y4mPieces : public ::testing::TestWithParam<std::tuple<const char*, std::size_t>> {};

// Returns short reads, as a pipe may.
class Pieces : public ByteSource {
 public:
  Pieces(std::span<const std::byte> bytes, std::size_t most) : source_(bytes), most_(most) {}
  [[nodiscard]] Result<std::size_t> read(std::span<std::byte> destination) override {
    return source_.read(destination.first(std::min(most_, destination.size())));
  }
  [[nodiscard]] const std::string& name() const override { return source_.name(); }

 private:
  MemorySource source_;
  std::size_t most_;
};

TEST_P(Y4mPieces, AreReadAsWholeFramesUpToTheOneThatIsCut) {
  const auto& [size, most] = GetParam();
  TemporaryFolder folder;
  const Delivered original = read_all(fmt::format("test:{}@3", size));
  ASSERT_TRUE(write_all(folder / "a.y4m", original.frames));
  const std::string whole = content_of(folder / "a.y4m");
  const std::size_t frame = packed_bytes(original.frames[0].format()) + 6;
  for (const std::size_t cut :
       {std::size_t{0}, std::size_t{1}, frame / 4, frame / 2, frame - 7, frame - 6, frame - 1}) {
    const std::string bytes = whole.substr(0, whole.size() - cut);
    auto reader = open_y4m_reader(std::make_unique<Pieces>(std::as_bytes(std::span(bytes)), most), {});
    ASSERT_TRUE(reader);
    const Delivered delivered = read_all(**reader);
    EXPECT_EQ(delivered.error.has_value(), cut != 0) << cut;
    if (delivered.error) {
      EXPECT_THAT(delivered.error->message, HasSubstr("frame 2: is truncated"));
    }
    ASSERT_EQ(delivered.frames.size(), cut == 0 ? 3U : 2U);
    for (std::size_t i = 0; i < delivered.frames.size(); ++i)
      EXPECT_TRUE(same_samples(delivered.frames[i], original.frames[i])) << cut;
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, Y4mPieces,
                         ::testing::Combine(::testing::Values("640x448", "700x400", "1280x720", "96x64"),
                                            ::testing::Values(std::size_t{4099}, std::size_t{65536},
                                                              std::size_t{1} << 30)),
                         [](const auto& test) {
                           return fmt::format("{}_by_{}", std::get<0>(test.param), std::get<1>(test.param));
                         });

TEST(Y4mReader, SaysTheSameAgainAfterAnError) {
  const std::string bytes = "YUV4MPEG2 W2 H1 Cmono\nFRAME\na";
  auto reader = open_y4m_reader(std::make_unique<MemorySource>(std::as_bytes(std::span(bytes))), {});
  ASSERT_TRUE(reader);
  const auto first = (*reader)->next();
  const auto second = (*reader)->next();
  ASSERT_FALSE(first);
  ASSERT_FALSE(second);
  EXPECT_EQ(first.error().message, second.error().message);
}

TEST(Y4mReader, TakesNoMemoryForFramesThatAreNotThere) {
  const auto peak = [] {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;  // KiB
  };
  const long before = peak();
  const Delivered delivered = read_bytes("YUV4MPEG2 W32768 H32000 Cmono\nFRAME\nabc");
  ASSERT_TRUE(delivered.error);
  EXPECT_THAT(delivered.error->message, HasSubstr("truncated"));
  EXPECT_LT(peak() - before, 100 << 10);
}

}  // namespace
}  // namespace millrace::video
