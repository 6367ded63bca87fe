/* The memory that a preloaded birth shim shares with millrace: where new threads find their masks, and say
 * that they are there; where main finds its own; and which masks are millrace's, with what was there before.
 * Included by the shim, which is C, and by millrace. */
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
  millrace_board_given = 1024,  /* masks beyond these nobody is told of */
  millrace_board_starters = 64, /* threads beyond these start programs with the mask that they have */
  millrace_board_words = 16,    /* of a mask: 1024 CPUs, as in glibc's cpu_set_t */
  millrace_board_chosen = 2048, /* words of 32 bits */
  millrace_board_placed = 128,  /* likewise */
};

/* The descriptors of the board and of the library, which the program inherits and the library closes:
 * "NUMBER,NUMBER". */
#define MILLRACE_BOARD_VARIABLE "MILLRACE_BIRTH_BOARD"

/* Named as C names things. NOLINTBEGIN(readability-identifier-naming) */
enum millrace_birth_end {
  millrace_birth_under_way = 0,
  millrace_birth_took_mask = 1,
  millrace_birth_took_none = 2,
};

struct millrace_birth_slot {
  uint64_t mask[millrace_board_words];
  uint32_t has_mask;
  uint32_t process;
  /* The thread's number, before it looks whether it is in `placed` and takes the mask. Sequentially
   * consistent, against `placed`. */
  MILLRACE_ATOMIC(uint32_t) thread;
  /* Of millrace_birth_end; stored last with release order: who reads it with acquire order sees the rest. */
  MILLRACE_ATOMIC(uint32_t) end;
};

/* A mask that a thread was given, or may take, and what it had before. */
struct millrace_given_mask {
  uint64_t mask[millrace_board_words];
  uint64_t original[millrace_board_words];
};

/* A thread that has put back what it had, so that a program that it starts begins with that: its number, and
 * this bit as long as it is about to start one. 0: nobody. Threads enter themselves before they put anything
 * back; millrace, which gives them their place again, takes them out. */
#define MILLRACE_STARTING UINT32_C(0x80000000)
/* It is being given its place; it waits for that, but not for ever, as millrace may be gone. */
#define MILLRACE_HELD UINT32_C(0x40000000)

struct millrace_birth_board {
  uint32_t version;
  uint32_t size;         /* of this structure */
  uint32_t owner;        /* the process that has laid it ready, and from which the program descends */
  uint32_t answers_only; /* births are somebody else's to see and to place */
  /* What a thread starts is given back what the program had before it begins, by whoever traces it. Relaxed
   * order: late is no harm. */
  MILLRACE_ATOMIC(uint32_t) traced;
  /* How many there are in `given`, which only grows. Release and acquire; a mask is there before any thread
   * has it. */
  MILLRACE_ATOMIC(uint32_t) given_count;
  struct millrace_given_mask given[millrace_board_given];
  /* Sequentially consistent, against the mask in the kernel. */
  MILLRACE_ATOMIC(uint32_t) starters[millrace_board_starters];
  /* A bit for each mask that the program has given any thread, at millrace_chosen_bit(): a process that is
   * met with one of these is taken to have it by the program's choice. That may be wrong where its maker was
   * given the same mask, or two masks share a bit; it then keeps a mask, where else it would lose one that it
   * should have. Relaxed order: whoever chooses for itself has noted it before it makes a process, and who
   * chooses for others a moment after they have it. */
  MILLRACE_ATOMIC(uint32_t) chosen[millrace_board_chosen];
  /* Where the main thread goes as it makes its first thread; -1: it stays. Release and acquire: its mask is
   * in `given`. */
  MILLRACE_ATOMIC(int32_t) main_cpu;
  /* Not 0: nobody takes anything that is laid ready any more, as all have been given back what they had.
   * Relaxed order: it publishes nothing, and who has read it too early is given back its own. */
  MILLRACE_ATOMIC(uint32_t) lapsed;
  /* A bit for each thread, by its number, that millrace has found before it told of itself, and places: it
   * takes nothing by itself any more. Sequentially consistent, against the numbers in the slots: a thread
   * stores its number and then looks here, millrace stores the bit and then looks there, so one of the two
   * sees the other. Where two threads share a bit, or a number is used again, one takes no place by itself
   * and is given it a little later. */
  MILLRACE_ATOMIC(uint32_t) placed[millrace_board_placed];
  /* The number of births; takes the next slot. Relaxed order: it hands out numbers and publishes nothing. */
  MILLRACE_ATOMIC(uint32_t) births;
  struct millrace_birth_slot slots[millrace_board_slots];
};

/* In `placed`. */
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
