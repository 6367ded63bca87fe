/* short_threads COUNT: makes COUNT threads one after the other, each of which ends at once. Prints the
 * median time to make one, in microseconds. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static void* body(void* argument) { return argument; }

static int compare(const void* a, const void* b) {
  const double x = *(const double*)a;
  const double y = *(const double*)b;
  return (x > y) - (x < y);
}

static double now_us(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec * 1e6 + (double)now.tv_nsec * 1e-3;
}

int main(int count, char** arguments) {
  const int threads = count > 1 ? atoi(arguments[1]) : 1000;
  double* took = calloc((size_t)threads, sizeof(*took));
  for (int i = 0; i < threads; ++i) {
    pthread_t thread;
    const double start = now_us();
    if (pthread_create(&thread, NULL, body, NULL) != 0) return 3;
    took[i] = now_us() - start;
    pthread_join(thread, NULL);
  }
  qsort(took, (size_t)threads, sizeof(*took), compare);
  printf("%.2f us\n", took[threads / 2]);
  return 0;
}
