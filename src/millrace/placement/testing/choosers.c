/* choosers: threads that are given masks by the program itself, and start this program again, which prints
 * the mask that it began with.
 *
 * choosers itself CPU     a thread takes CPU, and starts one by each way: "fork M", "spawn M", "shell M",
 * "own M" choosers main CPU       the same of a thread after main has taken CPU for itself, and the thread
 * has a mask of one choosers by-main CPU    the same of a thread which main has given CPU choosers attributes
 * CPU a thread is made with CPU in its attributes: "own M" choosers late FILE      makes a thread as soon as
 * FILE is there: "own M" */
#define _GNU_SOURCE
#include "masks.h"

#include <pthread.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sys/wait.h>

extern char** environ;

static const char* self;
static const char* mode;
static cpu_set_t chosen;
static pthread_barrier_t ready;

static void print_own(const char* what) {
  char mask[4096];
  own_mask(mask, sizeof(mask));
  printf("%s %s\n", what, mask);
  fflush(stdout);
}

static void start_all(void) {
  char* arguments[] = {(char*)self, "fork", NULL};
  pid_t child = fork();
  if (child == 0) {
    execve(self, arguments, environ);
    _exit(99);
  }
  waitpid(child, NULL, 0);
  arguments[1] = "spawn";
  if (posix_spawn(&child, self, NULL, NULL, arguments, environ) == 0) waitpid(child, NULL, 0);
  char command[4096];
  snprintf(command, sizeof(command), "'%s' shell", self);
  if (system(command) != 0) exit(3);
}

static int has_one_cpu(void) {
  cpu_set_t mask;
  return sched_getaffinity(0, sizeof(mask), &mask) == 0 && CPU_COUNT(&mask) == 1;
}

static void* body(void* argument) {
  if (strcmp(mode, "itself") == 0) sched_setaffinity(0, sizeof(chosen), &chosen);
  if (strcmp(mode, "by-main") == 0 || strcmp(mode, "main") == 0) pthread_barrier_wait(&ready);
  if (strcmp(mode, "main") == 0)
    for (int i = 0; i < 2000 && !has_one_cpu(); ++i)
      usleep(1000);
  if (strcmp(mode, "attributes") != 0 && strcmp(mode, "late") != 0) start_all();
  print_own("own");
  return argument;
}

int main(int count, char** arguments) {
  if (count == 2) {
    print_own(arguments[1]);
    return 0;
  }
  if (count != 3) return 2;
  self = arguments[0];
  mode = arguments[1];
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_barrier_init(&ready, NULL, 2);
  if (strcmp(mode, "late") == 0) {
    printf("ready\n");
    fflush(stdout);
    while (access(arguments[2], F_OK) != 0)
      usleep(1000);
  } else {
    CPU_ZERO(&chosen);
    CPU_SET(atoi(arguments[2]), &chosen);
  }
  if (strcmp(mode, "attributes") == 0) pthread_attr_setaffinity_np(&attributes, sizeof(chosen), &chosen);
  pthread_t thread;
  if (pthread_create(&thread, &attributes, body, NULL) != 0) return 3;
  if (strcmp(mode, "by-main") == 0) pthread_setaffinity_np(thread, sizeof(chosen), &chosen);
  if (strcmp(mode, "main") == 0) sched_setaffinity(0, sizeof(chosen), &chosen);
  if (strcmp(mode, "by-main") == 0 || strcmp(mode, "main") == 0) pthread_barrier_wait(&ready);
  pthread_join(thread, NULL);
  return 0;
}
