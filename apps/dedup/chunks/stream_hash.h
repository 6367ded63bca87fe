// StreamHash: the checksum of a whole stream, computed as it passes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

struct XXH3_state_s;

namespace millrace::dedup {

// 128-bit XXH3 of all bytes of the stream.
struct StreamCheck {
  std::uint64_t low = 0;
  std::uint64_t high = 0;

  bool operator==(const StreamCheck&) const = default;
};

// Used by one thread at a time.
class StreamHash {
 public:
  StreamHash();
  void add(std::span<const std::byte> bytes);
  // Check of the bytes added so far.
  [[nodiscard]] StreamCheck value() const;

 private:
  struct Free {
    void operator()(XXH3_state_s* state) const;
  };
  std::unique_ptr<XXH3_state_s, Free> state_;
};

}  // namespace millrace::dedup
