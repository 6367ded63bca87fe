/* A policy of your own for `millrace exec --policy FILE.so`: where the threads of a program run.
 *
 * Write millrace_place() in C, or in any language that can export it, and build a shared object:
 *
 *     cc -shared -fPIC -I src/millrace/placement/policy -o mine.so mine.c
 *     millrace exec --policy ./mine.so -- program arguments
 *
 * It is called whenever threads were born or ended, from one thread at a time, and has to be quick: a new
 * thread waits for it. It decides from its arguments alone; all of them belong to the caller and are valid
 * during the call. docs/exec.md has a worked example. */
#ifndef MILLRACE_POLICY_H
#define MILLRACE_POLICY_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MILLRACE_POLICY_VERSION 1

/* A CPU (processing unit) that the program may use. Cores, last-level caches and nodes are numbered from 0;
 * CPUs of the same number share it. */
struct millrace_cpu {
  int32_t number; /* as the kernel numbers it */
  int32_t core;
  int32_t llc;
  int32_t node;
  int32_t kind; /* of core: the higher the faster; 0 where all are alike */
  double load;  /* 0 idle to 1 busy, before the program began */
};

/* A living thread, in order of birth. */
struct millrace_thread {
  int32_t number;   /* order of birth in the whole program, from 0; never used again */
  int32_t process;  /* order of birth of its process, from 0 */
  int32_t main;     /* 1 for the thread that its process began with */
  const char* name; /* at most 15 characters; "" until the kernel was asked for it */
};

enum millrace_class {
  MILLRACE_CLASS_KEEP = -1,
  MILLRACE_CLASS_OTHER = 0,
  MILLRACE_CLASS_FIFO = 1,
  MILLRACE_CLASS_RR = 2,
  MILLRACE_CLASS_BATCH = 3,
};

/* What a thread gets. It comes filled in as: keep everything. */
struct millrace_choice {
  unsigned char* cpus;      /* one for each of the CPUs: 1 to use it. All 0: every CPU that is allowed */
  int32_t scheduling_class; /* enum millrace_class */
  int64_t slice_ns;         /* 0: the kernel's own */
};

/* Fills in choices[i] for threads[i]. Return 0; anything else leaves all threads as they are. */
int millrace_place(const struct millrace_cpu* cpus, size_t cpu_count, const struct millrace_thread* threads,
                   size_t thread_count, struct millrace_choice* choices);

/* Return MILLRACE_POLICY_VERSION. */
int millrace_policy_version(void);

#ifdef __cplusplus
}
#endif
#endif
