/* work THREADS SECONDS REPORTS: threads that pass a token around a ring, and print "done N" to standard
 * error REPORTS times a second. An example of a program that reports its progress. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static long turns;
static int threads;
static int stop;

static void* body(void* argument) {
  const long own = (long)argument;
  pthread_mutex_lock(&mutex);
  while (!stop) {
    while (!stop && turns % threads != own)
      pthread_cond_wait(&changed, &mutex);
    ++turns;
    pthread_cond_broadcast(&changed);
  }
  pthread_mutex_unlock(&mutex);
  return NULL;
}

int main(int count, char** arguments) {
  threads = count > 1 ? atoi(arguments[1]) : 4;
  const double seconds = count > 2 ? atof(arguments[2]) : 2;
  const int reports = count > 3 ? atoi(arguments[3]) : 20;
  pthread_t* handles = calloc((size_t)threads, sizeof(*handles));
  for (long i = 0; i < threads; ++i)
    if (pthread_create(&handles[i], NULL, body, (void*)i) != 0) return 3;
  for (int i = 0; i < (int)(seconds * reports); ++i) {
    const struct timespec pause = {0, 1000000000L / reports};
    nanosleep(&pause, NULL);
    pthread_mutex_lock(&mutex);
    fprintf(stderr, "done %ld\n", turns);
    pthread_mutex_unlock(&mutex);
  }
  pthread_mutex_lock(&mutex);
  stop = 1;
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&mutex);
  for (int i = 0; i < threads; ++i)
    pthread_join(handles[i], NULL);
  return 0;
}
