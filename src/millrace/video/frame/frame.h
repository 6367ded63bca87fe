// Video frames as planes of integer code values: the data that readers, the executor and writers exchange.
#pragma once

#include "millrace/video/frame/properties.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace millrace::video {

// Chroma subsampling.
enum class Chroma { gray, c420, c422, c444 };

// Largest accepted width and height, in luma samples.
inline constexpr int max_dimension = 32768;

// The range of code values in use: all of them (full), or the usual range of video (limited: at 8 bits, 16 to
// 235 for luma and 16 to 240 for chroma).
enum class ColorRange { unspecified, limited, full };

// Whether all rows of a frame show the same moment (progressive) or every second row shows a later one. Top
// first means that the field with the topmost row is the earlier one.
enum class FieldOrder { unspecified, progressive, top_first, bottom_first };

// How the samples of a plane are stored. Readers and writers use codes only. Numbers exist only inside a
// pipeline, between filters and between its parts.
enum class SampleForm {
  codes,    // code values
  numbers,  // floats: 0 for the lowest code and 1 for the highest
  nothing,  // a chroma plane without any colour left
};
using SampleForms = std::array<SampleForm, 3>;  // per plane, including planes that a format does not have

// The meaning of a frame's code values, and its timing. Code values run from 0 to 2^bits - 1 in either colour
// range.
struct FrameFormat {
  int width = 0;   // luma samples, 1 to max_dimension
  int height = 0;  // luma samples, 1 to max_dimension
  Chroma chroma = Chroma::c420;
  int bits = 8;             // per code value, 8 to 16
  int rate_numerator = 25;  // frames per second, as a fraction
  int rate_denominator = 1;
  // Seconds per unit of Frame::timestamp, as a fraction. 0: frames have no timestamps and follow each other
  // at the frame rate.
  int time_base_numerator = 0;
  int time_base_denominator = 1;
  // Passed on to the writer, never applied. If the input leaves one unspecified, so does the output. Sample
  // aspect ratio, 0:1 if unknown; colour code points of ITU-T H.273, with 2 for "unspecified"; chroma sample
  // location for 4:2:0, which is the value of H.273 plus 1, with 0 for "unspecified".
  int aspect_numerator = 0;
  int aspect_denominator = 1;
  ColorRange range = ColorRange::unspecified;
  int color_primaries = 2;
  int color_transfer = 2;
  int color_matrix = 2;
  int chroma_location = 0;
  FieldOrder field_order = FieldOrder::unspecified;
  SampleForms forms{};

  [[nodiscard]] bool is_interlaced() const {
    return field_order == FieldOrder::top_first || field_order == FieldOrder::bottom_first;
  }
  [[nodiscard]] bool has_timestamps() const { return time_base_numerator > 0; }

  bool operator==(const FrameFormat&) const = default;
};

// Chroma subsampling and bit depth.
struct Samples {
  Chroma chroma = Chroma::c420;
  int bits = 8;

  bool operator==(const Samples&) const = default;
};

// The format with other samples. Resampling chroma makes its location unspecified.
[[nodiscard]] FrameFormat with_samples(FrameFormat format, const Samples& samples);

[[nodiscard]] int plane_count(Chroma chroma);
// Whether all planes hold code values.
[[nodiscard]] bool is_of_codes(const FrameFormat& format);
// Whether a plane has any samples stored.
[[nodiscard]] bool holds(const FrameFormat& format, int plane);

// Luma samples per chroma sample, in each direction: 1 or 2.
[[nodiscard]] int chroma_step_x(Chroma chroma);
[[nodiscard]] int chroma_step_y(Chroma chroma);

[[nodiscard]] int bytes_per_sample(const FrameFormat& format, int plane = 0);

// Size of a plane. Chroma planes of odd-sized frames are rounded up, as in H.264 and y4m.
[[nodiscard]] int plane_width(const FrameFormat& format, int plane);
[[nodiscard]] int plane_height(const FrameFormat& format, int plane);

// Bytes from one row of a plane to the next within a Frame: a multiple of 64.
[[nodiscard]] std::ptrdiff_t plane_stride(const FrameFormat& format, int plane);

// Bytes of memory a Frame of this format takes, padding included.
[[nodiscard]] std::size_t frame_bytes(const FrameFormat& format);

// Bytes of the stored samples with rows and planes packed: the size of a frame in a file of uncompressed
// video.
[[nodiscard]] std::size_t packed_bytes(const FrameFormat& format);

// "numbers,codes,codes"
[[nodiscard]] std::string to_string(const SampleForms& forms);
// "352x288 4:2:0 8 bit", for messages and reports.
[[nodiscard]] std::string to_string(const FrameFormat& format);

// One plane of samples, not owned: uint8_t at 8 bits, native-endian uint16_t above; float for numbers.
struct PlaneView {
  std::byte* data = nullptr;
  std::ptrdiff_t stride = 0;  // bytes from one row to the next
  int width = 0;
  int height = 0;

  template <class Sample> [[nodiscard]] Sample* row(int y) const {
    return reinterpret_cast<Sample*>(data + y * stride);
  }
};

class FrameFreeList;

// A frame owns its samples. Rows start at multiples of 64 bytes; the padding between rows is unspecified. The
// 64 bytes after the end of any row belong to the frame, so that vector instructions may overshoot. Writing
// there overwrites the next row. Movable, not copyable; a moved-from frame is empty. Not synchronised, but
// any thread may destroy a frame.
class Frame {
 public:
  Frame() = default;
  // Samples are uninitialised. Throws std::bad_alloc; to avoid exceptions, take frames from a FramePool.
  explicit Frame(const FrameFormat& format);

  [[nodiscard]] bool empty() const { return !samples_; }
  [[nodiscard]] const FrameFormat& format() const { return format_; }
  [[nodiscard]] int planes() const { return plane_count(format_.chroma); }
  [[nodiscard]] PlaneView plane(int which) const;
  // Throws std::bad_alloc.
  [[nodiscard]] Frame clone() const;

  std::int64_t index = 0;  // position in the stream, from 0
  // Presentation time in units of the format's time base, on the clock of the input, which need not start at
  // 0. None: one frame duration after the previous frame.
  std::optional<std::int64_t> timestamp;
  // Properties of this frame alone, such as closed captions; may be null.
  SharedProperties properties;

 private:
  friend class FramePool;

  // Returns the memory to its pool, if it came from one.
  struct Free {
    std::shared_ptr<FrameFreeList> home;
    void operator()(std::byte* memory) const;
  };
  using Samples = std::unique_ptr<std::byte[], Free>;

  Frame(const FrameFormat& format, Samples samples) : format_(format), samples_(std::move(samples)) {}

  FrameFormat format_;
  Samples samples_;
};

// Whether every code value is below 2^bits; always true for numbers. Files with 9 to 15 bits use 16-bit
// words, which can hold larger values.
[[nodiscard]] bool within_bit_depth(const Frame& frame);

}  // namespace millrace::video
