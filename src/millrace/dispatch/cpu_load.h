/* How busy CPUs are. */
#ifndef MILLRACE_DISPATCH_CPU_LOAD_H
#define MILLRACE_DISPATCH_CPU_LOAD_H

#include <sched.h>

/* busy[cpu]: ticks that the CPU was not idle, since the system began; -1 of one that is not there. 0, or -1
 * with errno where the kernel does not tell. */
int millrace_busy_ticks(long long* busy, int most);

/* The allowed CPU that was least busy between two readings, or promised[cpu] ticks where that is more
 * (promised: NULL for none): of equals one that is not `passed_over` (-1:
 * none) if there is another, and the lowest of those; -1 where none was read. Pure. */
int millrace_least_busy(const cpu_set_t* allowed, const long long* before, const long long* after,
                        const double* promised, int most, int passed_over);

/* millrace_dispatch_find_least_load_core(), which waits for an answer of the daemon for so long. */
int millrace_least_load_core(int patience_ms);

#endif
