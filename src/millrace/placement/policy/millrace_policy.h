/* The interface of your own policy for `millrace exec --policy FILE.so`: it decides where the threads of a
 * program run.
 *
 * Write millrace_place() in C, or in any language that can export it, and build a shared object:
 *
 *     cc -shared -fPIC -I src/millrace/placement/policy -o mine.so mine.c
 *     millrace exec --policy ./mine.so -- program arguments
 *
 * It is called when threads are born or end, and again at every second observation of the program. Calls come
 * from one thread at a time. It must be fast, because a new thread waits for it. It must decide from its
 * arguments alone; they belong to the caller and are valid only during the call. docs/exec.md has a worked
 * example. */
#ifndef MILLRACE_POLICY_H
#define MILLRACE_POLICY_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MILLRACE_POLICY_VERSION 1

/* A CPU (processing unit) that the program may use. Cores, last-level caches and nodes are numbered from 0;
 * CPUs with the same number share that core, cache or node. */
struct millrace_cpu {
  int32_t number; /* the kernel's number of the CPU */
  int32_t core;
  int32_t llc;
  int32_t node;
  int32_t kind; /* kind of core: a higher number is faster; 0 if all are alike */
  double load;  /* 0 idle to 1 busy, at the latest birth; the program's main threads are left out */
};

/* A living thread. Threads are passed in order of birth. */
struct millrace_thread {
  int32_t number;   /* order of birth in the whole program, from 0; never reused */
  int32_t process;  /* order of birth of its process, from 0 */
  int32_t main;     /* 1 for the first thread of its process */
  const char* name; /* at most 15 characters; "" until it has been read from the kernel */
};

enum millrace_class {
  MILLRACE_CLASS_KEEP = -1,
  MILLRACE_CLASS_OTHER = 0,
  MILLRACE_CLASS_FIFO = 1,
  MILLRACE_CLASS_RR = 2,
  MILLRACE_CLASS_BATCH = 3,
};

/* What a thread gets. Preset to: keep everything. */
struct millrace_choice {
  unsigned char* cpus;      /* one byte for each of the CPUs: 1 to use it. All 0: every CPU that is allowed */
  int32_t scheduling_class; /* enum millrace_class */
  int64_t slice_ns;         /* 0: the kernel's default */
};

/* Implement this: fill in choices[i] for threads[i] and return 0. Any other value leaves all threads as they
 * are. */
int millrace_place(const struct millrace_cpu* cpus, size_t cpu_count, const struct millrace_thread* threads,
                   size_t thread_count, struct millrace_choice* choices);

/* Implement this: return MILLRACE_POLICY_VERSION. */
int millrace_policy_version(void);

#ifdef __cplusplus
}
#endif
#endif
