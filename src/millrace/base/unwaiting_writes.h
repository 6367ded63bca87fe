// UnwaitingWrites: writes to pipes, sockets and devices that take what fits and leave the waiting to poll(2).
#pragma once

#include "millrace/base/descriptor.h"

#include <cstddef>
#include <span>

#include <sys/types.h>

namespace millrace {

// How to write to a descriptor that poll(2) calls writable, without ever waiting, so that waits can be ended.
// The descriptor itself stays as it is: other programs may share it, and would not expect it to refuse
// writes.
class UnwaitingWrites {
 public:
  // `descriptor` outlives this object.
  explicit UnwaitingWrites(int descriptor);

  // As write(2): how many bytes were taken, which may be fewer than given; -1 with errno, EAGAIN where there
  // is no room. A pipe is made larger first, so that it takes them at once where the system allows that.
  [[nodiscard]] ssize_t write(std::span<const std::byte> bytes);

 private:
  enum class Kind { pipe, socket, other };

  void enlarge(std::size_t bytes);

  int descriptor_;
  Kind kind_;
  Descriptor unwaiting_;     // of a pipe: it opened a second time, not to wait; none where that is refused
  std::size_t largest_ = 0;  // write so far
};

}  // namespace millrace
