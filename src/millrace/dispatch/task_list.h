/* The threads of a process, as /proc has them. */
#ifndef MILLRACE_DISPATCH_TASK_LIST_H
#define MILLRACE_DISPATCH_TASK_LIST_H

#include <sched.h>

#include <sys/types.h>

/* Fills in at most `most` of them, the main thread first and then by number; returns how many, 0 where there
 * are none. */
int millrace_tasks_of(pid_t process, pid_t* threads, int most);

/* Of every core that has allowed CPUs the first of these; all that is allowed where the kernel does not tell.
 */
void millrace_first_cpus_of_cores(const cpu_set_t* allowed, cpu_set_t* first);

#endif
