#define _GNU_SOURCE
#include "millrace/dispatch/cpu_load.h"

#include "millrace/dispatch/daemon_reply.h"
#include "millrace/dispatch/daemon_socket.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <sys/syscall.h>

enum { look_ns = 20000000, usual_patience_ms = 15, most_placed = 1024, line_bytes = 512 };
static const long long remembered_ns = 100000000;

int millrace_busy_ticks(long long* busy, int most) {
  FILE* file = fopen("/proc/stat", "re");
  if (file == NULL) return -1;
  for (int cpu = 0; cpu < most; ++cpu)
    busy[cpu] = -1;
  char line[line_bytes];
  int found = 0;
  while (fgets(line, sizeof line, file) != NULL) {
    int cpu = 0;
    int read = 0;
    if (sscanf(line, "cpu%d%n", &cpu, &read) != 1 || cpu < 0 || cpu >= most) continue;
    /* Fields: user nice system idle iowait irq softirq steal. The fields after them are part of the first
     * two. */
    long long sum = 0;
    char* at = line + read;
    for (int field = 0; field < 8; ++field) {
      char* end = NULL;
      const long long ticks = strtoll(at, &end, 10);
      if (end == at) break;
      if (field != 3 && field != 4) sum += ticks;
      at = end;
    }
    busy[cpu] = sum;
    found = 1;
  }
  fclose(file);
  if (found) return 0;
  errno = ENODATA;
  return -1;
}

int millrace_least_busy(const cpu_set_t* allowed, const long long* before, const long long* after,
                        const double* promised, int most, int passed_over) {
  int best = -1;
  double least = 0;
  for (int cpu = 0; cpu < most; ++cpu) {
    if (!CPU_ISSET(cpu, allowed) || before[cpu] < 0 || after[cpu] < 0) continue;
    double busy = (double)(after[cpu] - before[cpu]);
    if (promised != NULL && promised[cpu] > busy) busy = promised[cpu];
    if (best < 0 || busy < least || (busy == least && best == passed_over)) {
      best = cpu;
      least = busy;
    }
  }
  return best;
}

/* The last result and its time, in two separate atomics. Relaxed order suffices: a mismatched pair only means
 * that another CPU is passed over. */
static atomic_int last_answer = -1;
static atomic_llong last_time = 0;

/* Reads the shares of CPUs that the daemon has promised to threads. The calling thread is left out, because
 * it is about to be placed. Returns 0 if nothing is promised. */
static int read_promised(double* promised, int most, int patience_ms) {
  millrace_dispatch_placed* placed = malloc(most_placed * sizeof *placed);
  if (placed == NULL) return 0;
  const int count = millrace_dispatch_get_placement(placed, most_placed, patience_ms);
  if (count > 0) millrace_promised(placed, count, (pid_t)syscall(SYS_gettid), promised, most);
  free(placed);
  return count > 0;
}

int millrace_least_load_core(int patience_ms) {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return -1;
  long long before[CPU_SETSIZE];
  long long after[CPU_SETSIZE];
  if (millrace_busy_ticks(before, CPU_SETSIZE) != 0) return -1;
  const long long begin = millrace_now_ns();
  double promised[CPU_SETSIZE];
  const int is_promised = read_promised(promised, CPU_SETSIZE, patience_ms);
  const long long left = begin + look_ns - millrace_now_ns();
  const struct timespec moment = {0, left > 0 ? left : 0};
  nanosleep(&moment, NULL);
  if (millrace_busy_ticks(after, CPU_SETSIZE) != 0) return -1;
  const long long now = millrace_now_ns();
  if (is_promised)
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
      promised[cpu] *= 1e-9 * (double)(now - begin) * (double)sysconf(_SC_CLK_TCK);
  const int recent = now - atomic_load_explicit(&last_time, memory_order_relaxed) < remembered_ns
                         ? atomic_load_explicit(&last_answer, memory_order_relaxed)
                         : -1;
  const int found =
      millrace_least_busy(&allowed, before, after, is_promised ? promised : NULL, CPU_SETSIZE, recent);
  if (found < 0) {
    errno = ENODATA;
    return -1;
  }
  atomic_store_explicit(&last_answer, found, memory_order_relaxed);
  atomic_store_explicit(&last_time, now, memory_order_relaxed);
  return found;
}

int millrace_dispatch_find_least_load_core(void) { return millrace_least_load_core(usual_patience_ms); }
