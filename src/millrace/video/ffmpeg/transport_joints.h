// TransportJoints: finds where a transport stream was joined from whole parts, as by `cat a.ts b.ts`.
//
//   TransportJoints joints;
//   joints.see(position, bytes);                            // all bytes of the file, as they are read
//   const auto joint = joints.only_joint(pid, position);    // why a packet there was flagged as damaged
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <vector>

namespace millrace::video {

// Each stream numbers its packets by 16, so lost ones are noticed. FFmpeg flags the coded picture before the
// jump as damaged, although it is whole if parts were joined. The last packet of a picture is padded, because
// the next picture begins a new packet. So a picture is whole if its packets are numbered without a jump, the
// last one is padded and the next one begins another picture.
class TransportJoints {
 public:
  // Takes the bytes at this position of the file. If it does not continue the last one, the reader has moved.
  void see(std::int64_t position, std::span<const std::uint8_t> bytes);

  // Position of the first joint of the stream at or after `from`; none if there is none, or damage too.
  [[nodiscard]] std::optional<std::int64_t> only_joint(int pid, std::int64_t from) const;
  // Whether something is missing in the stream's picture that begins at this position, or right after it.
  [[nodiscard]] bool lacks_data(int pid, std::int64_t position) const;

  // Whether the file is a transport stream and something is missing in what was read of it. Its first
  // pictures must be whole, and if all `size` bytes were read, also its last ones.
  [[nodiscard]] bool is_damaged(std::int64_t size) const;

 private:
  struct Stream {
    bool has_pictures = false;     // or sound, as opposed to tables
    bool begins_inside = false;    // its first packet continues a picture
    int number = -1;               // of its last packet
    std::int64_t begin = -1;       // position of its last picture
    bool whole = false;            // all packets of the picture so far have been seen
    bool padded = false;           // its last packet was
    std::optional<int> remaining;  // bytes, if the picture's size is stated

    // Whether its last picture is whole and complete.
    [[nodiscard]] bool has_ended() const { return whole && (remaining ? *remaining == 0 : padded); }
  };
  struct Jump {
    std::int64_t at = 0;
    int pid = 0;
    bool joint = false;         // otherwise something is missing
    std::int64_t picture = -1;  // position of the one before the jump
  };

  void forget(std::size_t bytes);
  void forget_after(std::int64_t position);
  [[nodiscard]] bool find_packets();
  void see_packet(std::int64_t position, std::span<const std::uint8_t> packet);
  void note(const Jump& jump);
  void note_lost_packets(std::int64_t position);

  bool off_ = false;             // not a transport stream
  bool found_ = false;           // packets were found before
  std::size_t packet_size_ = 0;  // including what some programs add to each packet; 0: unknown
  std::int64_t position_ = 0;    // of waiting_
  std::vector<std::uint8_t> waiting_;
  std::map<int, Stream> streams_;  // by PID
  std::deque<Jump> jumps_;
};

}  // namespace millrace::video
