/* Measures how busy the CPUs are. */
#ifndef MILLRACE_DISPATCH_CPU_LOAD_H
#define MILLRACE_DISPATCH_CPU_LOAD_H

#include <sched.h>

/* Fills in busy[cpu], the ticks since boot in which the CPU was not idle; -1 for a CPU that does not exist.
 * Returns 0, or -1 with errno if the kernel does not report them. */
int millrace_busy_ticks(long long* busy, int most);

/* Returns the allowed CPU that was least busy between two readings; -1 if none was read. A CPU counts as busy
 * for at least promised[cpu] ticks (promised may be NULL). Among equals the lowest number wins, but
 * `passed_over` (-1: no CPU) loses against any other. Pure. */
int millrace_least_busy(const cpu_set_t* allowed, const long long* before, const long long* after,
                        const double* promised, int most, int passed_over);

/* millrace_dispatch_find_least_load_core() with a limit on the wait for the daemon's reply. */
int millrace_least_load_core(int patience_ms);

#endif
