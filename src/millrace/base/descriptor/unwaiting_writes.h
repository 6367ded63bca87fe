// UnwaitingWrites: non-blocking writes to pipes, sockets and devices. The caller waits with poll(2).
#pragma once

#include "millrace/base/descriptor/descriptor.h"

#include <cstddef>
#include <span>

#include <sys/types.h>

namespace millrace {

// Writes to a descriptor that poll(2) reports as writable, without ever blocking, so that the caller's waits
// can be stopped. Does not set O_NONBLOCK on the descriptor: other programs may share it and not expect
// EAGAIN.
class UnwaitingWrites {
 public:
  // `descriptor` must outlive this object.
  explicit UnwaitingWrites(int descriptor);

  // Like write(2): returns the number of bytes written, possibly fewer than given. Returns -1 with errno on
  // failure; EAGAIN means that there is no room. Enlarges a pipe first if the system allows it, so that the
  // bytes fit at once.
  [[nodiscard]] ssize_t write(std::span<const std::byte> bytes);

 private:
  enum class Kind { pipe, socket, other };

  void enlarge(std::size_t bytes);

  int descriptor_;
  Kind kind_;
  Descriptor unwaiting_;     // for a pipe: the same pipe reopened with O_NONBLOCK; closed if that was refused
  std::size_t largest_ = 0;  // largest write so far
};

}  // namespace millrace
