/* threads COUNT [SECONDS]: makes COUNT threads and waits until all have begun. Prints the masks that main
 * saw at the start and that each thread saw at its start. Then lets the threads work for SECONDS. */
#define _GNU_SOURCE
#include "masks.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static double seconds;
static pthread_barrier_t all_there;

struct seen {
  char mask[256];
};

static void work(void) {
  struct timespec start, now;
  clock_gettime(CLOCK_MONOTONIC, &start);
  do
    clock_gettime(CLOCK_MONOTONIC, &now);
  while ((double)(now.tv_sec - start.tv_sec) + (double)(now.tv_nsec - start.tv_nsec) * 1e-9 < seconds);
}

static void* body(void* argument) {
  struct seen* seen = argument;
  own_mask(seen->mask, sizeof(seen->mask));
  pthread_barrier_wait(&all_there);
  work();
  return NULL;
}

int main(int count, char** arguments) {
  const int threads = count > 1 ? atoi(arguments[1]) : 4;
  seconds = count > 2 ? atof(arguments[2]) : 0;
  char mask[256];
  own_mask(mask, sizeof(mask));
  printf("main %s\n", mask);
  pthread_barrier_init(&all_there, NULL, (unsigned)threads + 1);
  pthread_t* handles = calloc((size_t)threads, sizeof(*handles));
  struct seen* seen = calloc((size_t)threads, sizeof(*seen));
  for (int i = 0; i < threads; ++i)
    if (pthread_create(&handles[i], NULL, body, &seen[i]) != 0) return 3;
  pthread_barrier_wait(&all_there);
  for (int i = 0; i < threads; ++i)
    printf("thread %d %s\n", i, seen[i].mask);
  fflush(stdout);
  for (int i = 0; i < threads; ++i)
    pthread_join(handles[i], NULL);
  return 0;
}
