// Videos whose parameters change mid-stream: each frame's own tags count, not those of the first frame.
#include "millrace/video/frame/frame_fields.h"
#include "millrace/video/video_testing.h"

#include <array>
#include <cmath>
#include <cstddef>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace::video {
namespace {

using namespace millrace::video::testing;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

struct Parameters {
  std::string shape;
  std::string color;  // x264's names of primaries, transfer and matrix
  bool full = false;
  FieldOrder fields = FieldOrder::progressive;

  // Filters and options for the ffmpeg program.
  [[nodiscard]] std::string words() const {
    const char* const order = fields == FieldOrder::top_first      ? "tff -flags +ildct"
                              : fields == FieldOrder::bottom_first ? "bff -flags +ildct"
                                                                   : "prog";
    return fmt::format("-vf setsar={},setfield={} -x264-params {}:fullrange={}", shape, order, color,
                       full ? "on" : "off");
  }
};

constexpr int part_frames = 4;

class StreamChanges : public ::testing::TestWithParam<unsigned> {
 protected:
  void SetUp() override {
    if (!have_program("ffmpeg")) GTEST_SKIP() << "no ffmpeg program";
    for (int n = 0; n < 3; ++n) {
      const Parameters& made = parts_.emplace_back(any());
      const std::string file = folder_ / fmt::format("{}.264", n);
      ASSERT_TRUE(
          ffmpeg(fmt::format("-f lavfi -i testsrc2=s=64x48:r=25:d={} -c:v libx264 -preset ultrafast -pix_fmt "
                             "yuv420p {} '{}'",
                             part_frames / 25.0, made.words(), file)));
      for (const char byte : file_bytes(file))
        bytes_.push_back(byte);
      Delivered alone = read_all(file);
      ASSERT_FALSE(alone.error) << alone.error->message;
      ASSERT_EQ(alone.frames.size(), part_frames);
      for (Frame& frame : alone.frames)
        alone_.push_back(std::move(frame));
    }
    write_file(folder_ / "all.264", bytes_);
  }

  Parameters any() {
    constexpr std::array shapes{"1/1", "4/3", "16/11"};
    constexpr std::array colors{"colorprim=bt709:transfer=bt709:colormatrix=bt709",
                                "colorprim=bt2020:transfer=smpte2084:colormatrix=bt2020nc",
                                "colorprim=smpte170m:transfer=smpte170m:colormatrix=smpte170m"};
    constexpr std::array orders{FieldOrder::progressive, FieldOrder::top_first, FieldOrder::bottom_first};
    return {.shape = shapes.at(random_() % 3),
            .color = colors.at(random_() % 3),
            .full = random_() % 2 == 1,
            .fields = orders.at(random_() % 3)};
  }

  // The first part whose value differs from the first part's; -1 if none.
  template <class Value> [[nodiscard]] int first_change(Value Parameters::* value) const {
    for (std::size_t n = 1; n < parts_.size(); ++n)
      if (parts_[n].*value != parts_[0].*value) return static_cast<int>(n) * part_frames;
    return -1;
  }

  TemporaryFolder folder_;
  std::mt19937 random_{GetParam()};
  std::vector<Parameters> parts_;
  std::vector<char> bytes_;
  std::vector<Frame> alone_;  // each part as a separate video
};

// Converts by the definition of codes in H.273.
double in_range(double code, bool chroma, bool from_full, bool to_full) {
  if (from_full == to_full) return code;
  const double share = from_full ? (chroma ? (code - 128) / 255 : code / 255)
                                 : (chroma ? (code - 128) / 224 : (code - 16) / 219);
  const double zero = chroma ? 128 : to_full ? 0 : 16;
  return std::clamp(zero + share * (to_full ? 255 : chroma ? 224 : 219), 0.0, 255.0);
}

TEST_P(StreamChanges, OfAnyKindAreConvertedOrNamedWithTheirFrame) {
  auto reader = open_reader(folder_ / "all.264");
  ASSERT_TRUE(reader) << reader.error().message;
  const Delivered all = read_all(**reader);
  ASSERT_FALSE(all.error) << all.error->message;
  ASSERT_EQ(all.frames.size(), alone_.size());
  const std::vector<std::string> named = (*reader)->unread();
  const auto expect_named = [&](const char* what, int frame) {
    if (frame < 0)
      EXPECT_THAT(named, Not(Contains(StartsWith(what))));
    else
      EXPECT_THAT(named, Contains(StartsWith(fmt::format("{} from frame {} on (", what, frame))));
  };
  expect_named("sample shape", first_change(&Parameters::shape));
  expect_named("colour tags", first_change(&Parameters::color));
  expect_named("range", first_change(&Parameters::full));
  expect_named("interlaced flag", first_change(&Parameters::fields));

  const FieldOrder first_order = all.frames.front().format().field_order;
  for (std::size_t n = 0; n < all.frames.size(); ++n) {
    const Parameters& part = parts_[n / part_frames];
    const Frame& frame = all.frames[n];
    ASSERT_EQ(frame.format(), all.frames.front().format());
    const bool other_fields = part.fields != FieldOrder::progressive && part.fields != first_order;
    EXPECT_EQ(fields_of(frame), other_fields ? std::optional(part.fields) : std::nullopt) << "frame " << n;
    for (int index = 0; index < frame.planes(); ++index) {
      const PlaneView now = frame.plane(index);
      const PlaneView own = alone_[n].plane(index);
      for (int y = 0; y < now.height; ++y)
        for (int x = 0; x < now.width; ++x)
          ASSERT_NEAR(now.row<std::uint8_t>(y)[x],
                      in_range(own.row<std::uint8_t>(y)[x], index > 0, part.full, parts_[0].full), 0.5001)
              << "frame " << n << ", plane " << index;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Random, StreamChanges, ::testing::Range(1U, 9U));

}  // namespace
}  // namespace millrace::video
