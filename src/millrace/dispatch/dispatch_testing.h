/* Helpers shared by the tests of libmillrace_dispatch. They are in C, like the library's users. */
#ifndef MILLRACE_DISPATCH_DISPATCH_TESTING_H
#define MILLRACE_DISPATCH_DISPATCH_TESTING_H

#include <sched.h>
#include <stdio.h>

static int failures = 0;

#define EXPECT(condition)                                                                                    \
  do {                                                                                                       \
    if (!(condition)) {                                                                                      \
      fprintf(stderr, "%s:%d: %s is false\n", __FILE__, __LINE__, #condition);                               \
      ++failures;                                                                                            \
    }                                                                                                        \
  } while (0)

static cpu_set_t allowed_here(void) {
  cpu_set_t mask;
  sched_getaffinity(0, sizeof mask, &mask);
  return mask;
}

static int lowest(const cpu_set_t* mask) {
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, mask)) return cpu;
  return -1;
}

#endif
