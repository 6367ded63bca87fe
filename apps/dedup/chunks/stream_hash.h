// StreamHash: the check of a whole stream, taken as it goes by.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

struct XXH3_state_s;

namespace millrace::dedup {

// XXH3 with 128 bits of all the stream's bytes.
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
  // Of what was added so far.
  [[nodiscard]] StreamCheck value() const;

 private:
  struct Free {
    void operator()(XXH3_state_s* state) const;
  };
  std::unique_ptr<XXH3_state_s, Free> state_;
};

}  // namespace millrace::dedup
