#define _GNU_SOURCE
#include "millrace/dispatch/cpu_load.h"

#include "millrace/dispatch/millrace_dispatch.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { look_ns = 20000000, line_bytes = 512 };
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
    /* user nice system idle iowait irq softirq steal; the rest is part of the first two. */
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

int millrace_least_busy(const cpu_set_t* allowed, const long long* before, const long long* after, int most,
                        int passed_over) {
  int best = -1;
  long long least = 0;
  for (int cpu = 0; cpu < most; ++cpu) {
    if (!CPU_ISSET(cpu, allowed) || before[cpu] < 0 || after[cpu] < 0) continue;
    const long long busy = after[cpu] - before[cpu];
    if (best < 0 || busy < least || (busy == least && best == passed_over)) {
      best = cpu;
      least = busy;
    }
  }
  return best;
}

static long long now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return 1000000000LL * now.tv_sec + now.tv_nsec;
}

/* The last answer and when it was given, in one word each. Relaxed: a torn pair passes over another CPU, no
 * more. */
static atomic_int last_answer = -1;
static atomic_llong last_time = 0;

int millrace_dispatch_find_least_load_core(void) {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return -1;
  long long before[CPU_SETSIZE];
  long long after[CPU_SETSIZE];
  if (millrace_busy_ticks(before, CPU_SETSIZE) != 0) return -1;
  const struct timespec moment = {0, look_ns};
  nanosleep(&moment, NULL);
  if (millrace_busy_ticks(after, CPU_SETSIZE) != 0) return -1;
  const long long now = now_ns();
  const int recent = now - atomic_load_explicit(&last_time, memory_order_relaxed) < remembered_ns
                         ? atomic_load_explicit(&last_answer, memory_order_relaxed)
                         : -1;
  const int found = millrace_least_busy(&allowed, before, after, CPU_SETSIZE, recent);
  if (found < 0) {
    errno = ENODATA;
    return -1;
  }
  atomic_store_explicit(&last_answer, found, memory_order_relaxed);
  atomic_store_explicit(&last_time, now, memory_order_relaxed);
  return found;
}
