/* libmillrace_dispatch: a program places threads itself, its own or another's. In C, without anything else of
 * millrace; the names are those of UDispatch and UDispatch+ (Tu, Lee, Hsueh, Liu), whose kernel patch it does
 * without.
 *
 *   millrace_dispatch* d = millrace_dispatch_new();
 *   if (d == NULL) ...
 *   millrace_dispatch_bind_to_cpu(d, pid, millrace_dispatch_find_least_load_core());
 *   millrace_dispatch_on(d, pid);  // its threads that are born from now on go one to one to the cores
 *   millrace_dispatch_wait_app_done(pid);
 *   millrace_dispatch_free(d);
 *
 * Every function but millrace_dispatch_free may be called from any thread at any time. None prints, ends the
 * process or takes a signal. Where one says so, errno tells why it failed. A pid is a process's, or a
 * thread's where threads are bound; 0 stands for the caller. A dispatch that is NULL is refused with EINVAL,
 * but that binding a thread needs none. No privilege is needed for one's own user's processes. */
#ifndef MILLRACE_DISPATCH_H
#define MILLRACE_DISPATCH_H

#include <stddef.h>

#include <sys/types.h>

#define MILLRACE_DISPATCH_EXPORT __attribute__((visibility("default")))

#ifdef __cplusplus
extern "C" {
#endif

typedef struct millrace_dispatch millrace_dispatch;

/* NULL where memory or descriptors are refused. */
MILLRACE_DISPATCH_EXPORT millrace_dispatch* millrace_dispatch_new(void);
/* Turns dispatch off first. NULL is nothing. */
MILLRACE_DISPATCH_EXPORT void millrace_dispatch_free(millrace_dispatch* dispatch);

/* Binds the thread to the CPU alone, and reads back what the kernel granted. 0; -1 with errno: ESRCH it is
 * gone, EINVAL the CPU is none that it may use (the thread is then left as it was), EPERM it is another
 * user's. */
MILLRACE_DISPATCH_EXPORT int millrace_dispatch_bind_to_cpu(millrace_dispatch* dispatch, pid_t thread,
                                                           int cpu);

/* The CPU with the least to do at the call, of those that the caller may use: looked at for 20 ms, in which
 * the calling thread sleeps. Where a daemon of millrace runs and answers within that time, a CPU has at least
 * as much to do as the threads that the daemon keeps there usually take, also while they rest. Of equals that
 * with the lowest number, but not one that this function named within the last 100 ms as long as there are
 * others. -1 with errno where the kernel does not tell. */
MILLRACE_DISPATCH_EXPORT int millrace_dispatch_find_least_load_core(void);

/* A thread that the running daemon keeps on CPUs. */
typedef struct {
  pid_t process;
  pid_t thread;
  int cpu;                        /* where it ran last; -1: not known */
  double busy;                    /* the share of a CPU that it takes, 0 to 1; -1: not known yet */
  unsigned long long kept_on[16]; /* bit n % 64 of number n / 64: it may run on CPU n */
} millrace_dispatch_placed;

/* Asks the daemon of the caller's user, else that of the system, which threads it has placed, of those that
 * the caller may know of, and fills in at most `most`. Returns how many: 0 also where there is no daemon,
 * where it only observes, and where it has not answered within patience_ms. */
MILLRACE_DISPATCH_EXPORT int millrace_dispatch_get_placement(millrace_dispatch_placed* placed, int most,
                                                             int patience_ms);

/* The n-th core, counted from 0 and round again, of those that the caller could use when `dispatch` was made:
 * its first CPU. For a program that binds its threads one to one by itself. -1 with EINVAL for n < 0. */
MILLRACE_DISPATCH_EXPORT int millrace_dispatch_core(const millrace_dispatch* dispatch, int n);

/* How many threads the process has besides its main thread; 0 where it has none or is gone. */
MILLRACE_DISPATCH_EXPORT int millrace_dispatch_get_nr_threads(pid_t process);

/* Fills in at most `most` threads of the process: the main thread first, then in order of birth, as far as
 * numbers tell. Returns how many were filled in. */
MILLRACE_DISPATCH_EXPORT int millrace_dispatch_get_pids_on_task(pid_t* threads, int most, pid_t process);

/* From now on, threads that the process makes are bound as soon as they are seen, looked for every
 * millisecond: one to one, the first to the first core that the process may use, the next to the next; with
 * more threads than cores from the beginning again; where the main thread was the first that `dispatch`
 * bound, to the cores that it could use before. The main thread, and what lives already, is left alone. One
 * process at a time: EBUSY otherwise. 0, or -1 with errno. */
MILLRACE_DISPATCH_EXPORT int millrace_dispatch_on(millrace_dispatch* dispatch, pid_t process);
/* Threads that are born later are left alone; those that were bound stay so. */
MILLRACE_DISPATCH_EXPORT void millrace_dispatch_off(millrace_dispatch* dispatch);
/* How many threads were bound since it was last turned on. */
MILLRACE_DISPATCH_EXPORT int millrace_dispatch_bound(const millrace_dispatch* dispatch);

/* Returns when the process has ended: its exit status as waitpid() has it where it is a child of the caller,
 * which takes it; 0 where it is not. -1 with errno: ESRCH there is none, EINVAL 0, negative or the caller. */
MILLRACE_DISPATCH_EXPORT int millrace_dispatch_wait_app_done(pid_t process);

#ifdef __cplusplus
}
#endif
#endif
