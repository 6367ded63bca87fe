// OutputWindow: the outputs of a call that go on before it has returned.
#pragma once

#include <atomic>
#include <bit>
#include <cstdint>

namespace millrace::stream {

// A window of numbers that moves along the outputs of one call. Only the call's thread hands outputs on. Any
// thread may end one.
struct OutputWindow {
  // For up to `most` outputs in flight. A stage in order needs one place more, where its turn waits for the
  // next output.
  explicit OutputWindow(std::uint64_t most) : places(std::bit_ceil(most + 1)) {}

  [[nodiscard]] std::uint64_t place_of(std::uint64_t index) const { return index & (places - 1); }

  const std::uint64_t places;
  std::uint64_t handed_on = 0;  // number of the next output; used by the call's thread only
  // acquire and release: when an output has ended, its places may be used again.
  std::atomic<std::uint64_t> in_flight = 0;
};

}  // namespace millrace::stream
