/* The memory that a preloaded birth shim shares with millrace: where new threads find their masks, and say
 * that they are there; where main finds its own, and what it is to see of the CPUs. Included by the shim,
 * which is C, and by millrace. */
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
  millrace_board_version = 2,
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
  uint32_t size;         /* of this structure */
  uint32_t owner;        /* the process that has laid it ready, and from which the program descends */
  uint32_t answers_only; /* births are somebody else's to see and to place */
  uint64_t
      allowed[millrace_board_words]; /* what the program was given, and its main thread sees; or nothing */
  /* CPUs each of which alone was some main thread's mask by millrace, or may be by the shim. Set with release
   * order before the mask is: who sees such a mask of its own finds the CPU here. */
  MILLRACE_ATOMIC(uint64_t) main_given[millrace_board_words];
  /* Where the main thread goes as it makes its first thread; -1: it stays. Release and acquire: its CPU is in
   * main_given. */
  MILLRACE_ATOMIC(int32_t) main_cpu;
  /* The number of births; takes the next slot. Relaxed order: it hands out numbers and publishes nothing. */
  MILLRACE_ATOMIC(uint32_t) births;
  struct millrace_birth_slot slots[millrace_board_slots];
};
/* NOLINTEND(readability-identifier-naming) */

#ifdef __cplusplus
}
#endif
