/* The mask board: memory that the preloaded mask library shares with millrace. It lists the masks that
 * millrace gave, with the masks from before, and threads that are about to start a program. Included by the
 * library, which is C, and by millrace. */
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
  millrace_board_version = 7,
  millrace_board_given = 1024,  /* further masks are not listed */
  millrace_board_starters = 64, /* further threads start programs with the mask that they have */
  millrace_board_words = 16,    /* size of a mask: 1024 CPUs, as in glibc's cpu_set_t */
  millrace_board_chosen = 2048, /* words of 32 bits */
};

/* The descriptors of the board and of the library: "NUMBER,NUMBER". The program inherits them and the library
 * closes them. */
#define MILLRACE_BOARD_VARIABLE "MILLRACE_MASK_BOARD"

/* C naming. NOLINTBEGIN(readability-identifier-naming) */
/* A mask that a thread was given, and the mask that it had before. */
struct millrace_given_mask {
  uint64_t mask[millrace_board_words];
  uint64_t original[millrace_board_words];
};

/* Set in a starter's entry while the thread is about to start a program. The entry holds the number of a
 * thread that has put back its original mask, so that the program begins with that; 0: free. Threads register
 * before they put anything back. millrace removes the entry when it gives the thread its mask again. */
#define MILLRACE_STARTING UINT32_C(0x80000000)
/* Set while the thread is being given its mask. It waits for that, but with a limit, because millrace may be
 * gone. */
#define MILLRACE_HELD UINT32_C(0x40000000)

struct millrace_mask_board {
  uint32_t version;
  uint32_t size;  /* of this structure */
  uint32_t owner; /* the process that made the board; an ancestor of the program */
  /* Set if a tracer restores each process that the program starts, before it begins. Relaxed order: a late
   * update is harmless. */
  MILLRACE_ATOMIC(uint32_t) traced;
  /* Number of entries in `given`, which only grows. Release and acquire: a mask is listed before any thread
   * has it. */
  MILLRACE_ATOMIC(uint32_t) given_count;
  struct millrace_given_mask given[millrace_board_given];
  /* Sequentially consistent, paired with the mask in the kernel. */
  MILLRACE_ATOMIC(uint32_t) spawning[millrace_board_starters];
  /* A bloom filter: millrace_chosen_bit() of each mask that the program itself gave a thread. A process found
   * with one of these is assumed to have it by the program's choice. That can be wrong: its maker may have
   * been given the same mask, or two masks may share a bit. Such a process then keeps a mask, which is better
   * than losing one that the program chose. Relaxed order: a thread that chooses for itself records it before
   * it makes a process; one that chooses for others records it just after. */
  MILLRACE_ATOMIC(uint32_t) chosen[millrace_board_chosen];
};

/* FNV-1a over the words of a mask. */
static inline uint32_t millrace_chosen_bit(const uint64_t* mask) {
  uint64_t hash = UINT64_C(14695981039346656037);
  for (int i = 0; i < millrace_board_words; ++i) {
    hash = (hash ^ (mask[i] >> 32)) * UINT64_C(1099511628211);
    hash = (hash ^ (mask[i] & UINT32_MAX)) * UINT64_C(1099511628211);
  }
  const uint32_t folded = (hash ^ (hash >> 32)) & UINT32_MAX;
  return folded % (millrace_board_chosen * 32);
}
/* NOLINTEND(readability-identifier-naming) */

#ifdef __cplusplus
}
#endif
