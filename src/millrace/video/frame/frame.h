// Frames of video as planes of integer code values: the currency between readers, the executor and writers.
#pragma once

#include "millrace/video/frame/properties.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace millrace::video {

// How many chroma samples there are for the luma samples of a frame.
enum class Chroma { gray, c420, c422, c444 };

// Sizes up to this are accepted, in luma samples.
inline constexpr int max_dimension = 32768;

// The part of the code values that is used: all of them, or the one that video keeps to (of 8 bits 16 to 235
// for luma and 16 to 240 for chroma).
enum class ColorRange { unspecified, limited, full };

// Whether all rows of a frame are of one moment, or every second one is of a later: which of the two fields
// is the earlier, the one with the topmost row or the other.
enum class FieldOrder { unspecified, progressive, top_first, bottom_first };

// How the samples of a plane are held. No reader makes and no writer takes anything but codes: numbers are
// what a pipeline has between its filters, and go from one part of it to another.
enum class SampleForm {
  codes,    // code values
  numbers,  // the floats that they stand for: 0 for the least and 1 for the greatest
  nothing,  // a plane of chroma that has no colour left
};
using SampleForms = std::array<SampleForm, 3>;  // of the planes, those included that a format does not have

// What the code values of a frame mean, and when frames are shown. Code values run from 0 to 2^bits - 1
// whatever the colour range is.
struct FrameFormat {
  int width = 0;   // luma samples, 1 to max_dimension
  int height = 0;  // luma samples, 1 to max_dimension
  Chroma chroma = Chroma::c420;
  int bits = 8;             // of a code value, 8 to 16
  int rate_numerator = 25;  // frames per second, as a fraction
  int rate_denominator = 1;
  // Seconds in a unit of Frame::timestamp, as a fraction. 0: frames have no timestamps, and follow each other
  // at the frame rate.
  int time_base_numerator = 0;
  int time_base_denominator = 1;
  // Carried through to the writer, never applied: what the input does not say, the output does not say. The
  // shape of a sample, 0:1 when not known; the colour code points of ITU-T H.273, in which 2 stands for
  // "unspecified"; where the samples of 4:2:0 chroma lie, 1 more than in H.273, 0 for "unspecified".
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

// What samples there are of a picture.
struct Samples {
  Chroma chroma = Chroma::c420;
  int bits = 8;

  bool operator==(const Samples&) const = default;
};

// The format with other samples: where its chroma lies is no longer known where that is resampled.
[[nodiscard]] FrameFormat with_samples(FrameFormat format, const Samples& samples);

[[nodiscard]] int plane_count(Chroma chroma);
// Whether it hands on anything but code values.
[[nodiscard]] bool is_of_codes(const FrameFormat& format);
// Whether a plane has samples to hand on.
[[nodiscard]] bool holds(const FrameFormat& format, int plane);

// Luma samples for each sample of the chroma planes: 1 or 2.
[[nodiscard]] int chroma_step_x(Chroma chroma);
[[nodiscard]] int chroma_step_y(Chroma chroma);

[[nodiscard]] int bytes_per_sample(const FrameFormat& format, int plane = 0);

// Size of a plane: chroma planes of odd frames are rounded up, as H.264 and y4m do.
[[nodiscard]] int plane_width(const FrameFormat& format, int plane);
[[nodiscard]] int plane_height(const FrameFormat& format, int plane);

// Bytes from one row of a plane to the next within a Frame: a multiple of 64.
[[nodiscard]] std::ptrdiff_t plane_stride(const FrameFormat& format, int plane);

// Bytes of memory a Frame of this format takes, padding included.
[[nodiscard]] std::size_t frame_bytes(const FrameFormat& format);

// Bytes of the samples that are held, rows and planes packed: what a frame takes in a file of uncompressed
// video.
[[nodiscard]] std::size_t packed_bytes(const FrameFormat& format);

// "numbers,codes,codes"
[[nodiscard]] std::string to_string(const SampleForms& forms);
// "352x288 4:2:0 8 bit", for messages and reports.
[[nodiscard]] std::string to_string(const FrameFormat& format);

// One plane of samples, not owned: uint8_t for 8 bits, native-endian uint16_t above; float for numbers.
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

// A frame owns its samples. Rows start at multiples of 64 bytes; what lies between the end of a row and the
// next one is unspecified. The 64 bytes after the end of any row are the frame's own, for vector instructions
// that overshoot; to write there destroys the next row. Moved, not copied; a moved-from frame is empty. Not
// synchronised, but a frame may be destroyed in another thread than the one that made it.
class Frame {
 public:
  Frame() = default;
  // Samples are uninitialised. Throws std::bad_alloc; where that must not be, take frames from a FramePool.
  explicit Frame(const FrameFormat& format);

  [[nodiscard]] bool empty() const { return !samples_; }
  [[nodiscard]] const FrameFormat& format() const { return format_; }
  [[nodiscard]] int planes() const { return plane_count(format_.chroma); }
  [[nodiscard]] PlaneView plane(int which) const;
  // Throws std::bad_alloc.
  [[nodiscard]] Frame clone() const;

  std::int64_t index = 0;  // position in the stream, from 0
  // When it is shown, in units of the format's time base, by the clock of the input, on which the first frame
  // need not be at 0. None: one frame duration after the frame before.
  std::optional<std::int64_t> timestamp;
  // Of this frame alone, as closed captions; may be null.
  SharedProperties properties;

 private:
  friend class FramePool;

  // Gives the memory back to the pool it came from, if it came from one.
  struct Free {
    std::shared_ptr<FrameFreeList> home;
    void operator()(std::byte* memory) const;
  };
  using Samples = std::unique_ptr<std::byte[], Free>;

  Frame(const FrameFormat& format, Samples samples) : format_(format), samples_(std::move(samples)) {}

  FrameFormat format_;
  Samples samples_;
};

// Whether every code value is below 2^bits; true of numbers. Files with 9 to 15 bits keep them in 16-bit
// words that can hold more.
[[nodiscard]] bool within_bit_depth(const Frame& frame);

}  // namespace millrace::video
