/* The calling thread's own mask as text, listing every CPU: "0,1,3". */
#pragma once

#include <sched.h>
#include <stdio.h>
#include <string.h>

static void own_mask(char* text, size_t size) {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  text[0] = 0;
  if (sched_getaffinity(0, sizeof(mask), &mask) != 0) return;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &mask)) {
      const size_t length = strlen(text);
      snprintf(text + length, size - length, "%s%d", length == 0 ? "" : ",", cpu);
    }
}
