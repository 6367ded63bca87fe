#include "millrace/base/file/file_lock.h"

#include "millrace/base/error/clock.h"

#include <cerrno>
#include <fcntl.h>
#include <thread>

namespace millrace {
namespace {

// Lock owned by the open file description, not by the process. bytes: 0 locks everything from `byte` on.
int control(int descriptor, int command, struct flock& lock) { return fcntl(descriptor, command, &lock); }

struct flock lock_of(short type, off_t byte, off_t bytes) {
  struct flock lock{};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = byte;
  lock.l_len = bytes;
  return lock;
}

}  // namespace

int lock_byte(int descriptor, off_t byte, std::chrono::milliseconds patience) {
  constexpr std::chrono::milliseconds between_tries{5};
  const std::int64_t end = now_ns() + std::chrono::nanoseconds(patience).count();
  for (;;) {
    struct flock lock = lock_of(F_WRLCK, byte, 1);
    if (control(descriptor, F_OFD_SETLK, lock) == 0) return 0;
    const int error = errno;
    if (error == EINTR) continue;
    if (error != EAGAIN && error != EACCES) return error;
    if (now_ns() >= end) return EWOULDBLOCK;
    std::this_thread::sleep_for(between_tries);
  }
}

void unlock_byte(int descriptor, off_t byte) {
  struct flock lock = lock_of(F_UNLCK, byte, 1);
  static_cast<void>(control(descriptor, F_OFD_SETLK, lock));
}

bool is_locked_from(int descriptor, off_t byte) {
  struct flock lock = lock_of(F_WRLCK, byte, 0);
  return control(descriptor, F_OFD_GETLK, lock) == 0 && lock.l_type != F_UNLCK;
}

}  // namespace millrace
