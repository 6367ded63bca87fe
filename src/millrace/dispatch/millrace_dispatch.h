/* libmillrace_dispatch pins threads to CPUs: the calling program's own threads or another program's. It is
 * plain C and needs no other part of millrace. The names come from UDispatch and UDispatch+ (Tu, Lee, Hsueh,
 * Liu); unlike those, it needs no kernel patch.
 *
 *   millrace_dispatch* d = millrace_dispatch_new();
 *   if (d == NULL) ...
 *   millrace_dispatch_bind_to_cpu(d, pid, millrace_dispatch_find_least_load_core());
 *   millrace_dispatch_on(d, pid);  // pins the threads born from now on, one to each core
 *   millrace_dispatch_wait_app_done(pid);
 *   millrace_dispatch_free(d);
 *
 * Every function except millrace_dispatch_free is thread-safe. No function prints, ends the process or
 * installs a signal handler. Functions that say so set errno on failure. A pid names a process, or a thread
 * for functions that pin threads; 0 means the caller. A NULL dispatch is refused with EINVAL, except that
 * millrace_dispatch_bind_to_cpu accepts it. Processes of the caller's own user need no privilege. */
#ifndef MILLRACE_DISPATCH_H
#define MILLRACE_DISPATCH_H

#include <stddef.h>

#include <sys/types.h>

#define MILLRACE_DISPATCH_EXPORT __attribute__((visibility("default")))

#ifdef __cplusplus
extern "C" {
#endif

typedef struct millrace_dispatch millrace_dispatch;

/* Returns NULL if there is not enough memory. */
MILLRACE_DISPATCH_EXPORT millrace_dispatch* millrace_dispatch_new(void);
/* Turns dispatch off first. NULL is allowed and ignored. */
MILLRACE_DISPATCH_EXPORT void millrace_dispatch_free(millrace_dispatch* dispatch);

/* Pins the thread to one CPU and reads back the mask that the kernel granted. Returns 0, or -1 with errno.
 * ESRCH: the thread is gone. EINVAL: the thread may not use that CPU; its mask is then left unchanged. EPERM:
 * the thread belongs to another user. */
MILLRACE_DISPATCH_EXPORT int millrace_dispatch_bind_to_cpu(millrace_dispatch* dispatch, pid_t thread,
                                                           int cpu);

/* Returns the least loaded of the CPUs that the caller may use. It measures for 20 ms; the calling thread
 * sleeps meanwhile. If a millrace daemon runs and answers in time, a CPU's load is at least what the daemon's
 * threads on it usually take, even while they sleep. Among equals the lowest number wins. A CPU that this
 * function returned within the last 100 ms is avoided if another is equally loaded. Returns -1 with errno if
 * the kernel does not report the load. */
MILLRACE_DISPATCH_EXPORT int millrace_dispatch_find_least_load_core(void);

/* A thread that the running daemon keeps on certain CPUs. */
typedef struct {
  pid_t process;
  pid_t thread;
  int cpu;                        /* the CPU it ran on last; -1: not known */
  double busy;                    /* share of a CPU that it uses, 0 to 1; -1: not known yet */
  unsigned long long kept_on[16]; /* its mask: bit n % 64 of word n / 64 stands for CPU n */
} millrace_dispatch_placed;

/* Asks the daemon which threads it has placed, and fills in at most `most` of them. It asks the daemon of the
 * caller's user, or the system's if the user runs none. The daemon reports only threads that the caller may
 * know about. Returns the number filled in: 0 also if there is no daemon, if it only observes, or if it does
 * not answer within patience_ms. */
MILLRACE_DISPATCH_EXPORT int millrace_dispatch_get_placement(millrace_dispatch_placed* placed, int most,
                                                             int patience_ms);

/* Returns the first CPU of core number n, for programs that pin their threads one to a core themselves. Cores
 * are those that the caller could use when `dispatch` was made; n starts at 0 and wraps around. Returns -1
 * with EINVAL if n < 0. */
MILLRACE_DISPATCH_EXPORT int millrace_dispatch_core(const millrace_dispatch* dispatch, int n);

/* Returns the number of threads besides the main thread; 0 if there are none or the process is gone. */
MILLRACE_DISPATCH_EXPORT int millrace_dispatch_get_nr_threads(pid_t process);

/* Fills in at most `most` threads of the process and returns how many: the main thread first, then the others
 * as the kernel lists them, which is in order of birth. */
MILLRACE_DISPATCH_EXPORT int millrace_dispatch_get_pids_on_task(pid_t* threads, int most, pid_t process);

/* From now on, pins each new thread of the process as soon as a watcher sees it; the watcher looks every
 * millisecond. Threads are pinned one to a core of the process, in order; after the last core it starts again
 * at the first. If the main thread was the first thread that `dispatch` pinned, the cores are those that it
 * could use before. The main thread and existing threads are left alone. Returns 0, or -1 with errno: EBUSY
 * if `dispatch` already serves a process. */
MILLRACE_DISPATCH_EXPORT int millrace_dispatch_on(millrace_dispatch* dispatch, pid_t process);
/* Stops pinning new threads. Threads that are pinned already stay pinned. */
MILLRACE_DISPATCH_EXPORT void millrace_dispatch_off(millrace_dispatch* dispatch);
/* Returns the number of threads pinned since dispatch was last turned on. */
MILLRACE_DISPATCH_EXPORT int millrace_dispatch_bound(const millrace_dispatch* dispatch);

/* Waits for the process to end. For a child of the caller, it reaps the child and returns its status as
 * waitpid() does; otherwise it returns 0. Returns -1 with errno: ESRCH if there is no such process, EINVAL if
 * `process` is 0, negative or the caller itself. */
MILLRACE_DISPATCH_EXPORT int millrace_dispatch_wait_app_done(pid_t process);

#ifdef __cplusplus
}
#endif
#endif
