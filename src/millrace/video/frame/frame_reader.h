// What delivers the frames of a video, one after the other.
#pragma once

#include "millrace/base/result.h"
#include "millrace/video/frame/frame.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

namespace millrace::video {

// What to do where a video is damaged: end with an error behind the last good frame, or leave out what cannot
// be decoded and go on with the next frame that refers to nothing lost.
enum class OnDamage { stop, skip };

class SideStreams;

struct ReaderOptions {
  // Threads the decoder may use, the calling one included. More than 1 makes a pool of the decoder's own.
  int decoder_threads = 1;
  // Larger frames are refused, so that a damaged header cannot take all memory.
  std::size_t max_frame_bytes = std::size_t{1} << 30;
  OnDamage on_damage = OnDamage::stop;
  // What frames are converted to; none: the nearest to what the video has.
  std::optional<Samples> samples;
  // Turns and mirrors frames as the video asks for, by right angles; else that stays among its properties.
  bool autorotate = true;
  // Takes what a file has beside its video, for a writer (see make_side_streams()); none: it is not read.
  std::shared_ptr<SideStreams> side_streams;
  // Makes waiting for a pipe fail as interrupted, while opening and later, as cancel() does.
  std::stop_token stop;
};

// Frames of a video that were not delivered, and what was put right.
struct Losses {
  std::int64_t at_start = 0;  // they refer to others from before the video begins, as where it was cut
  std::int64_t damaged = 0;   // damaged, or referring to others that are (OnDamage::skip)
  std::string first_damage;   // "frame 12: the data is incomplete"; also where no frame is known to be lost
  std::int64_t clock_jumps =
      0;  // where the file's clock ran back: what follows was moved to go on from there
  std::string first_clock_jump;  // "at 3.960 s by 3.920 s"

  bool operator==(const Losses&) const = default;
};

// Delivers frames in order, with index 0, 1, 2, ... and all of one format. Frames come from a pool:
// destroying them makes room for later ones. One thread at a time; cancel() from any.
class FrameReader {
 public:
  FrameReader() = default;
  FrameReader(const FrameReader&) = delete;
  FrameReader& operator=(const FrameReader&) = delete;
  virtual ~FrameReader() = default;

  [[nodiscard]] virtual const FrameFormat& format() const = 0;

  // The next frame, or nullopt at the end. Only frames that are as they were encoded: those at the start that
  // refer to others from before it are left out, and a damaged video delivers the frames before the damage,
  // then an error that says which frame is damaged and how (or what OnDamage::skip says). After the end or an
  // error every further call gives the same again.
  [[nodiscard]] virtual Result<std::optional<Frame>> next() = 0;

  // Best effort: the next frame is shown at `time` or before, in units of the format's time base, and frames
  // follow from there without a gap. Numbers of frames, and losses, count on. False, and nothing has changed,
  // where that cannot be.
  [[nodiscard]] virtual bool seek(std::int64_t /*time*/) { return false; }

  // No more frames are wanted: what goes beside them is read up to where they end.
  virtual void complete_side_streams() {}

  // How many frames there will be, where a header says so or it follows from sizes. May be wrong.
  [[nodiscard]] virtual std::optional<std::int64_t> frame_count_hint() const { return std::nullopt; }

  // The same, and where neither is so an estimate by what was read so far, which the next frame may change.
  // By the thread of next().
  [[nodiscard]] virtual std::optional<std::int64_t> frames_expected() const { return frame_count_hint(); }

  // What the whole video has beside what its format says; null where there is nothing.
  [[nodiscard]] virtual SharedProperties properties() const { return nullptr; }

  // What the video has beside its frames, in words, as "1 stream of audio": it is not read.
  [[nodiscard]] virtual std::vector<std::string> unread() const { return {}; }

  // What was left out up to the last frame delivered. After next(), in its thread.
  [[nodiscard]] virtual Losses losses() const { return {}; }

  // Makes a next() that waits for a pipe, and later ones, fail as interrupted.
  virtual void cancel() {}
};

}  // namespace millrace::video
