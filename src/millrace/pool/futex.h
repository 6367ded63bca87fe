// The two system calls that let a thread sleep until a 32-bit word changes (futex(2)).
#pragma once

#include <atomic>
#include <cstdint>
#include <ctime>
#include <limits>
#include <unistd.h>

#include <linux/futex.h>
#include <sys/syscall.h>

namespace millrace::pool {

static_assert(std::atomic<std::uint32_t>::is_always_lock_free &&
                  sizeof(std::atomic<std::uint32_t>) == sizeof(std::uint32_t),
              "the kernel reads the word as a plain 32-bit integer");

// Sleeps while `word` holds `expected`. The comparison and the sleep are atomic with respect to
// futex_wake_one on the same word. May return early (signal, stray wake), so callers check the word in a
// loop.
inline void futex_wait(const std::atomic<std::uint32_t>& word, std::uint32_t expected) {
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, expected, nullptr, nullptr, 0);
}

// The same for at most `patience_ns` >= 0.
inline void futex_wait_for(const std::atomic<std::uint32_t>& word, std::uint32_t expected,
                           std::int64_t patience_ns) {
  const timespec patience{patience_ns / 1'000'000'000, patience_ns % 1'000'000'000};
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, expected, &patience, nullptr, 0);
}

// Wakes one thread that sleeps on `word`, if any. Does not read the word.
inline void futex_wake_one(const std::atomic<std::uint32_t>& word) {
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

// Wakes all threads that sleep on `word`.
inline void futex_wake_all(const std::atomic<std::uint32_t>& word) {
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, std::numeric_limits<int>::max(), nullptr, nullptr, 0);
}

}  // namespace millrace::pool
