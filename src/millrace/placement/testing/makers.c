/* makers: makes processes or threads at awkward moments.
 *
 *   late FILE COUNT MB STEP_US  after the first process has ended, COUNT processes make one process each, about
 *                               STEP_US apart. Each of these writes its number to FILE and sleeps, like a daemon.
 *                               MB megabytes of memory make fork() slow
 *   keeps COUNT MB              prints "ready", makes COUNT sleeping processes one after the other, with MB
 *                               megabytes of memory, and sleeps itself
 *   main-exits                  main ends; another thread prints "ready" and, on SIGUSR1, takes class other and
 *                               makes a thread */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { sleep_seconds = 60 };

static void take_memory(const char* megabytes) {
  const size_t bytes = (size_t)atoi(megabytes) << 20;
  char* memory = malloc(bytes);
  if (memory == NULL) exit(3);
  memset(memory, 1, bytes);
}

static void be_daemon(int file) {
  char line[16];
  const int size = snprintf(line, sizeof(line), "%d\n", getpid());
  if (write(file, line, (size_t)size) != size) _exit(3);
  for (int descriptor = 0; descriptor <= file; ++descriptor)
    close(descriptor);
  sleep(sleep_seconds);
  _exit(0);
}

static int make_late(char** arguments) {
  const int file = open(arguments[0], O_WRONLY | O_APPEND);
  const int makers = atoi(arguments[1]);
  take_memory(arguments[2]);
  int ended[2];
  if (file < 0 || pipe(ended) != 0) return 3;
  for (int maker = 0; maker < makers; ++maker) {
    if (fork() != 0) continue;
    close(ended[1]);
    char nothing;
    if (read(ended[0], &nothing, 1) != 0) _exit(3);
    const struct timespec pause = {0, 1000L * maker * atoi(arguments[3])};
    nanosleep(&pause, NULL);
    if (fork() == 0) be_daemon(file);
    _exit(0);
  }
  return 0;
}

static int make_and_keep(char** arguments) {
  take_memory(arguments[1]);
  puts("ready");
  fflush(stdout);
  close(1);
  for (int made = 0; made < atoi(arguments[0]); ++made)
    if (fork() == 0) break;
  sleep(sleep_seconds);
  return 0;
}

static volatile sig_atomic_t asked;

static void ask(int signal) { asked = signal; }

static void* wait_long(void* argument) {
  sleep(sleep_seconds);
  return argument;
}

static void* outlive(void* argument) {
  pthread_t thread;
  puts("ready");
  fflush(stdout);
  while (!asked)
    usleep(1000);
  const struct sched_param none = {0};
  sched_setscheduler(0, SCHED_OTHER, &none);
  pthread_create(&thread, NULL, wait_long, NULL);
  return wait_long(argument);
}

int main(int count, char** arguments) {
  const char* mode = count > 1 ? arguments[1] : "";
  if (strcmp(mode, "late") == 0 && count == 6) return make_late(arguments + 2);
  if (strcmp(mode, "keeps") == 0 && count == 4) return make_and_keep(arguments + 2);
  if (strcmp(mode, "main-exits") == 0) {
    pthread_t thread;
    signal(SIGUSR1, ask);
    if (pthread_create(&thread, NULL, outlive, NULL) != 0) return 3;
    pthread_exit(NULL);
  }
  return 2;
}
