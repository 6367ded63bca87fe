/* The memory that a preloaded birth shim shares with millrace: where new threads find their masks, and say
 * that they are there. Included by the shim, which is C, and by millrace. */
#pragma once

#ifdef __cplusplus
#include <atomic>
#define MILLRACE_ATOMIC(type) std::atomic<type>
extern "C" {
#else
#include <stdatomic.h>
#define MILLRACE_ATOMIC(type) _Atomic(type)
#endif

#include <stdint.h>

enum {
  millrace_board_version = 1,
  millrace_board_slots = 1024, /* births beyond these are found by polling */
  millrace_board_words = 16,   /* of a mask: 1024 CPUs, as in glibc's cpu_set_t */
};

#define MILLRACE_BOARD_VARIABLE "MILLRACE_BIRTH_BOARD"

/* Named as C names things. NOLINTBEGIN(readability-identifier-naming) */
struct millrace_birth_slot {
  uint64_t mask[millrace_board_words];
  uint32_t has_mask;
  uint32_t process;
  /* The thread's number, stored last with release order: who reads it with acquire order sees `process`. */
  MILLRACE_ATOMIC(uint32_t) thread;
};

struct millrace_birth_board {
  uint32_t version;
  uint32_t size; /* of this structure */
  /* The number of births; takes the next slot. Relaxed order: it hands out numbers and publishes nothing. */
  MILLRACE_ATOMIC(uint32_t) births;
  struct millrace_birth_slot slots[millrace_board_slots];
};
/* NOLINTEND(readability-identifier-naming) */

#ifdef __cplusplus
}
#endif
