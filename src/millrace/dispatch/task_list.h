/* Lists the threads of a process from /proc. */
#ifndef MILLRACE_DISPATCH_TASK_LIST_H
#define MILLRACE_DISPATCH_TASK_LIST_H

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>

#include <sys/types.h>

/* A thread that this library makes. It is not one of the program's, so no list contains it. */
struct millrace_own_thread {
  pthread_t handle;
  sem_t begun;
  void* (*work)(void*);
  void* argument;
  pid_t process;
  pid_t thread;
  struct millrace_own_thread* next;
};
/* Returns 0 or the error number of pthread_create. `own` must live until the thread is joined. */
int millrace_start_own_thread(struct millrace_own_thread* own, void* (*work)(void*), void* argument);
void millrace_join_own_thread(struct millrace_own_thread* own);

/* Fills in at most `most` threads, the main thread first, the others as the kernel lists them. Returns how
 * many; 0 if there are none. */
int millrace_tasks_of(pid_t process, pid_t* threads, int most);

/* Fills in the first allowed CPU of every core; all allowed CPUs if the kernel does not report cores. */
void millrace_first_cpus_of_cores(const cpu_set_t* allowed, cpu_set_t* first);

#endif
