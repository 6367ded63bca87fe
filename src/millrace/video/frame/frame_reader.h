// FrameReader: delivers the frames of a video in order.
#pragma once

#include "millrace/base/error/result.h"
#include "millrace/video/frame/frame.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

namespace millrace::video {

// What to do about damage: stop with an error after the last good frame, or skip damaged frames. Skipping
// goes on at the next frame that does not refer to a lost one.
enum class OnDamage { stop, skip };

class SideStreams;

struct ReaderOptions {
  // Threads the decoder may use, including the caller. With more than 1, the decoder makes its own pool.
  int decoder_threads = 1;
  // Larger frames are refused, so that a damaged header cannot exhaust memory.
  std::size_t max_frame_bytes = std::size_t{1} << 30;
  OnDamage on_damage = OnDamage::stop;
  // Convert frames to these samples. None: the nearest to the video's own.
  std::optional<Samples> samples;
  // Apply the video's rotation and mirroring tag, in steps of 90 degrees. If false, the tag stays in the
  // properties.
  bool autorotate = true;
  // Receives the other streams of the file, for a writer (see make_side_streams()). Null: they are not read.
  std::shared_ptr<SideStreams> side_streams;
  // Interrupts waits for a pipe, during opening and later, like cancel().
  std::stop_token stop;
};

// Frames that were not delivered, and clock jumps that were repaired.
struct Losses {
  std::int64_t at_start = 0;     // they refer to frames before the start, for example in a trimmed file
  std::int64_t damaged = 0;      // damaged, or referring to damaged frames (OnDamage::skip)
  std::string first_damage;      // "frame 12: the data is incomplete"; set even if no lost frame is known
  std::int64_t clock_jumps = 0;  // times that the file's clock ran back; later frames were moved to continue
  std::string first_clock_jump;  // "at 3.960 s by 3.920 s"

  bool operator==(const Losses&) const = default;
};

// Delivers frames in order, with indices 0, 1, 2, ... and one common format. Frames come from a pool;
// destroying them makes room for later ones. Use it from one thread at a time; cancel() may be called from
// any.
class FrameReader {
 public:
  FrameReader() = default;
  FrameReader(const FrameReader&) = delete;
  FrameReader& operator=(const FrameReader&) = delete;
  virtual ~FrameReader() = default;

  [[nodiscard]] virtual const FrameFormat& format() const = 0;

  // Returns the next frame, or nullopt at the end. Only intact frames are delivered. Frames at the start that
  // refer to earlier, missing frames are left out. A damaged video delivers the frames before the damage,
  // then an error that names the damaged frame and the cause; OnDamage::skip changes that. After the end or
  // an error, every further call returns the same again.
  [[nodiscard]] virtual Result<std::optional<Frame>> next() = 0;

  // Seeks, best effort. The next frame is the one shown at `time` (in units of the format's time base) or an
  // earlier one. No frame is skipped from there on. Frame indices and losses keep counting. Returns false,
  // with nothing changed, if seeking is impossible.
  [[nodiscard]] virtual bool seek(std::int64_t /*time*/) { return false; }

  // Call it if no more frames are needed: reads the other streams up to the end of the delivered frames.
  virtual void complete_side_streams() {}

  // The expected number of frames, if a header states it or it follows from sizes. May be wrong.
  [[nodiscard]] virtual std::optional<std::int64_t> frame_count_hint() const { return std::nullopt; }

  // Like frame_count_hint(), with a fallback: an estimate from the frames read so far, which the next frame
  // may change. Call it from the thread of next().
  [[nodiscard]] virtual std::optional<std::int64_t> frames_expected() const { return frame_count_hint(); }

  // Properties of the whole video that its format does not hold; null if there are none.
  [[nodiscard]] virtual SharedProperties properties() const { return nullptr; }

  // Content of the file that is not read, in words, such as "1 stream of audio".
  [[nodiscard]] virtual std::vector<std::string> unread() const { return {}; }

  // Losses up to the last delivered frame. Call it after next(), from the same thread.
  [[nodiscard]] virtual Losses losses() const { return {}; }

  // Interrupts a next() that waits for a pipe. Later calls fail as interrupted, too.
  virtual void cancel() {}
};

}  // namespace millrace::video
