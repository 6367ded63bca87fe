// ClockJumps: the one clock of a file whose own clock runs back, as of recordings that were joined byte by
// byte.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace millrace::video {

// Times in microseconds. Where the packets of a stream begin anew at an earlier time, what follows is moved
// to behind all that came before, and so is what the other streams have from there on: by the same amount, so
// that they stay in step. A value.
class ClockJumps {
 public:
  struct Jump {
    std::int64_t at = 0;    // on the one clock
    std::int64_t back = 0;  // how far the file's clock ran back
  };

  // For each packet in the order of the file. What its times are to be moved by.
  //
  // dense: the stream has packets all the time, as pictures and sound. next_of_stream: when the packet behind
  // it in the stream is decoded, where asked for: looks_ahead() says that it is needed.
  [[nodiscard]] std::int64_t place(std::size_t stream, std::int64_t decoded, std::int64_t duration,
                                   bool dense, std::optional<std::int64_t> next_of_stream);
  // Whether the packet begins anew, or is far ahead, unless its time alone is wrong.
  [[nodiscard]] bool looks_ahead(std::size_t stream, std::int64_t decoded, bool dense) const;
  // What packets without any time are to be moved by.
  [[nodiscard]] std::int64_t moved_by(std::size_t stream) const;

  [[nodiscard]] const std::vector<Jump>& jumps() const { return jumps_; }
  // The file is read from another place.
  void forget_places() { streams_.clear(); }

 private:
  struct Stream {
    std::optional<std::int64_t> next;  // when a packet is due, on the one clock
    std::size_t part = 0;              // in which part of the file it is
  };
  struct Part {
    std::int64_t moved_by = 0;
    std::int64_t begin = 0;  // by the file's clock
  };

  [[nodiscard]] std::optional<std::size_t> fitting_part(const Stream& stream, std::int64_t decoded) const;
  [[nodiscard]] Stream stream_at(std::size_t index) const;

  std::vector<Stream> streams_;
  std::vector<Part> parts_{Part{}};
  std::vector<Jump> jumps_;
  std::int64_t end_ = 0;  // of all so far
};

}  // namespace millrace::video
