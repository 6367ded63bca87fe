// ClockJumps: one continuous clock for a file whose timestamps jump back, such as recordings joined byte by
// byte.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

namespace millrace::video {

// Times are in microseconds. If the packets of a stream restart at an earlier time, later packets are moved
// to follow everything so far. The packets of the other streams move by the same amount, so that the streams
// stay in step. A value type.
class ClockJumps {
 public:
  struct Jump {
    std::int64_t at = 0;    // on the continuous clock
    std::int64_t back = 0;  // how far the file's clock ran back
  };

  // Returns the offset to add to the packet's times. Call it for each packet in file order.
  //
  // dense: the stream has packets all the time, such as pictures or sound. next_of_stream: decoding time of
  // the stream's next packet; needed only if looks_ahead() says so.
  [[nodiscard]] std::int64_t place(std::size_t stream, std::int64_t decoded, std::int64_t duration,
                                   bool dense, std::optional<std::int64_t> next_of_stream);
  // The least time between this packet and the next one in decoding order, as duration for place(). A
  // picture's duration does not tell if the decoder holds back `delay` pictures to show them in order. Call
  // it for each packet in file order, also for those without a decoding time.
  [[nodiscard]] std::int64_t until_next(std::size_t stream, std::int64_t duration, int delay);
  // Whether place() needs the stream's next packet: this one jumps back or far ahead, and its time alone may
  // be wrong.
  [[nodiscard]] bool looks_ahead(std::size_t stream, std::int64_t decoded, bool dense) const;
  // Whether place() would take this time for a jump back.
  [[nodiscard]] bool goes_back(std::size_t stream, std::int64_t decoded) const;
  // The offset for packets that have no time at all.
  [[nodiscard]] std::int64_t moved_by(std::size_t stream) const;

  [[nodiscard]] const std::vector<Jump>& jumps() const { return jumps_; }
  // Call it after a seek.
  void forget_places() {
    streams_.clear();
    durations_.clear();
  }

 private:
  struct Stream {
    std::optional<std::int64_t> next;  // when the next packet is due, on the continuous clock
    std::size_t part = 0;              // index of its part of the file
  };
  struct Part {
    std::int64_t moved_by = 0;
    std::int64_t begin = 0;  // by the file's clock
  };

  [[nodiscard]] std::optional<std::size_t> fitting_part(const Stream& stream, std::int64_t decoded) const;
  [[nodiscard]] Stream stream_at(std::size_t index) const;

  std::vector<Stream> streams_;
  std::vector<std::deque<std::int64_t>> durations_;  // of the last packets of each stream
  std::vector<Part> parts_{Part{}};
  std::vector<Jump> jumps_;
  std::int64_t end_ = 0;  // end of everything so far
};

}  // namespace millrace::video
