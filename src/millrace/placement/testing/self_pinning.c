/* self_pinning: a thread pins itself to the lowest CPU it may use, and 1.5 seconds later prints that CPU
 * and its mask. */
#define _GNU_SOURCE
#include "masks.h"

#include <pthread.h>
#include <unistd.h>

static void* body(void* argument) {
  cpu_set_t mask;
  sched_getaffinity(0, sizeof(mask), &mask);
  int cpu = 0;
  while (!CPU_ISSET(cpu, &mask))
    ++cpu;
  CPU_ZERO(&mask);
  CPU_SET(cpu, &mask);
  sched_setaffinity(0, sizeof(mask), &mask);
  usleep(1500000);
  char text[256];
  own_mask(text, sizeof(text));
  printf("%d %s\n", cpu, text);
  return argument;
}

int main(void) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, body, NULL) != 0) return 3;
  pthread_join(thread, NULL);
  return 0;
}
