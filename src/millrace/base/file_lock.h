// Locks on files that processes take turns by.
#pragma once

#include <chrono>

#include <sys/types.h>

namespace millrace {

// Takes the lock of one byte of a file that is open for writing, which no other description of it can have as
// well, and waits for it no longer than `patience`. The byte need not be there. Closing the file gives all
// its locks back; so does the end of the process, however it comes. 0 or the error number: EWOULDBLOCK where
// somebody else keeps it, others where the file system has no locks.
[[nodiscard]] int lock_byte(int descriptor, off_t byte, std::chrono::milliseconds patience);
void unlock_byte(int descriptor, off_t byte);
// Whether any other description has a lock from this byte on.
[[nodiscard]] bool is_locked_from(int descriptor, off_t byte);

}  // namespace millrace
