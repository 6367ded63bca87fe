// File locks between processes.
#pragma once

#include <chrono>

#include <sys/types.h>

namespace millrace {

// Locks one byte of a file that is open for writing, exclusively among all open file descriptions. Waits at
// most `patience`. The byte may lie beyond the end of the file. Closing the file releases all its locks, and
// so does the end of the process, even a crash. Returns 0 or the error number: EWOULDBLOCK if the lock is
// taken, others if the file system has no locks.
[[nodiscard]] int lock_byte(int descriptor, off_t byte, std::chrono::milliseconds patience);
void unlock_byte(int descriptor, off_t byte);
// Whether another open file description holds a lock at or after this byte.
[[nodiscard]] bool is_locked_from(int descriptor, off_t byte);

}  // namespace millrace
