/* The birth board: memory that the preloaded birth shim shares with millrace. New threads find their masks on
 * it and report their birth, and main finds its mask. It also lists the masks that millrace gave, with the
 * masks from before. Included by the shim, which is C, and by millrace. */
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
  millrace_board_version = 6,
  millrace_board_slots = 1024,  /* births beyond these are found by polling */
  millrace_board_given = 1024,  /* further masks are not listed */
  millrace_board_starters = 64, /* further threads start programs with the mask that they have */
  millrace_board_words = 16,    /* size of a mask: 1024 CPUs, as in glibc's cpu_set_t */
  millrace_board_chosen = 2048, /* words of 32 bits */
  millrace_board_placed = 128,  /* words of 32 bits */
};

/* The descriptors of the board and of the library: "NUMBER,NUMBER". The program inherits them and the library
 * closes them. */
#define MILLRACE_BOARD_VARIABLE "MILLRACE_BIRTH_BOARD"

/* C naming. NOLINTBEGIN(readability-identifier-naming) */
enum millrace_birth_end {
  millrace_birth_under_way = 0,
  millrace_birth_took_mask = 1,
  millrace_birth_took_none = 2,
};

struct millrace_birth_slot {
  uint64_t mask[millrace_board_words];
  uint32_t has_mask;
  uint32_t process;
  /* The thread's number. It is stored before the thread checks `placed` and takes the mask. Sequentially
   * consistent, paired with `placed`. */
  MILLRACE_ATOMIC(uint32_t) thread;
  /* A millrace_birth_end. Stored last, with release order: a reader with acquire order sees the rest. */
  MILLRACE_ATOMIC(uint32_t) end;
};

/* A mask that a thread was given or may take, and the mask that it had before. */
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

struct millrace_birth_board {
  uint32_t version;
  uint32_t size;         /* of this structure */
  uint32_t owner;        /* the process that made the board; an ancestor of the program */
  uint32_t answers_only; /* births are observed and placed by other means */
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
  /* The CPU that the main thread takes when it makes its first thread; -1: it keeps its mask. Release and
   * acquire: the mask is in `given`. */
  MILLRACE_ATOMIC(int32_t) main_cpu;
  /* Nonzero: threads must not take prepared masks any more, because all have been restored. Relaxed order: it
   * publishes nothing, and a thread that read it too early is restored. */
  MILLRACE_ATOMIC(uint32_t) lapsed;
  /* A bit for each thread, by number, that millrace found before the thread reported itself. millrace places
   * such a thread, so it must not take a mask. Sequentially consistent, paired with the numbers in the slots:
   * a thread stores its number and then reads here; millrace stores the bit and then reads there. So at least
   * one of them sees the other. If two threads share a bit or a number is reused, a thread takes no mask and
   * is placed a little later. */
  MILLRACE_ATOMIC(uint32_t) placed[millrace_board_placed];
  /* The number of births, which also allots the slots. Relaxed order: it publishes nothing. */
  MILLRACE_ATOMIC(uint32_t) births;
  struct millrace_birth_slot slots[millrace_board_slots];
};

/* Position of a thread's bit in `placed`. */
static inline uint32_t millrace_placed_word(uint32_t thread) { return thread / 32 % millrace_board_placed; }
static inline uint32_t millrace_placed_flag(uint32_t thread) { return UINT32_C(1) << thread % 32; }

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
