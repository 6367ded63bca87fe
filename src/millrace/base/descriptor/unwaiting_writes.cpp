#include "millrace/base/descriptor/unwaiting_writes.h"

#include <algorithm>
#include <bit>
#include <climits>
#include <fcntl.h>
#include <string>
#include <unistd.h>

#include <sys/socket.h>
#include <sys/stat.h>

namespace millrace {
namespace {

// A pipe holds at most one write; more would only queue frames that the reader has not seen. It also equals
// the default limit for users (pipe-max-size).
constexpr std::size_t largest_pipe = std::size_t{1} << 20;

}  // namespace

UnwaitingWrites::UnwaitingWrites(int descriptor) : descriptor_(descriptor), kind_(Kind::other) {
  struct stat status{};
  if (fstat(descriptor, &status) != 0) return;
  if (S_ISSOCK(status.st_mode)) kind_ = Kind::socket;
  if (!S_ISFIFO(status.st_mode)) return;
  kind_ = Kind::pipe;
  const std::string again = "/proc/self/fd/" + std::to_string(descriptor);
  unwaiting_ = Descriptor::owned(::open(again.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC));
}

ssize_t UnwaitingWrites::write(std::span<const std::byte> bytes) {
  if (kind_ == Kind::socket)
    return send(descriptor_, bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  if (kind_ == Kind::pipe) enlarge(bytes.size());
  if (unwaiting_.is_open()) return ::write(unwaiting_.get(), bytes.data(), bytes.size());
  // A pipe accepts this much without blocking once poll(2) reports it writable.
  return ::write(descriptor_, bytes.data(), std::min<std::size_t>(bytes.size(), PIPE_BUF));
}

void UnwaitingWrites::enlarge(std::size_t bytes) {
  if (bytes <= largest_) return;
  largest_ = bytes;
  const std::size_t wanted = std::bit_ceil(std::min(bytes, largest_pipe));
  const int now = fcntl(descriptor_, F_GETPIPE_SZ);
  // Refused above the user's limit; the pipe then keeps its size.
  if (now >= 0 && static_cast<std::size_t>(now) < wanted)
    static_cast<void>(fcntl(descriptor_, F_SETPIPE_SZ, static_cast<int>(wanted)));
}

}  // namespace millrace
