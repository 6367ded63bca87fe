/* choosers: the program gives its own threads masks, then starts itself again; that instance prints the
 * mask that it began with. Before, another thread waits until it was given a mask of one CPU, except where
 * threads choose as soon as a file exists.
 *
 * choosers MODE CPU    a thread starts one instance in each way: "fork M", "spawn M", "shell M", "own M"
 *   itself      after the thread has set its own mask to CPU
 *   main        after main has set its own mask to CPU; the thread was given a mask of one CPU
 *   by-main     after main has set the thread's mask to CPU
 *   attributes  a thread that was made with CPU in its attributes
 *   inherits    a thread that inherited CPU, which main had set for itself before
 * choosers class FILE        a thread chooses class batch as soon as FILE exists, and stays
 * choosers mask FILE         a thread chooses the lowest CPU as soon as FILE exists, and stays */
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

static int is_mode(const char* name) { return strcmp(mode, name) == 0; }

static void wait_for(const char* file) {
  printf("ready\n");
  fflush(stdout);
  while (access(file, F_OK) != 0)
    usleep(1000);
}

static void wait_for_one_cpu(void) {
  for (int i = 0; i < 2000 && !has_one_cpu(); ++i)
    usleep(1000);
  if (!has_one_cpu()) exit(4);
}

static void* be_given_a_mask(void* argument) {
  wait_for_one_cpu();
  pthread_barrier_wait(&ready);
  while (1)
    pause();
  return argument;
}

static void* choose_late(void* file) {
  wait_for(file);
  const struct sched_param none = {0};
  cpu_set_t lowest;
  CPU_ZERO(&lowest);
  CPU_SET(0, &lowest);
  if (is_mode("class") ? sched_setscheduler(0, SCHED_BATCH, &none)
                       : sched_setaffinity(0, sizeof(lowest), &lowest))
    exit(5);
  while (1)
    pause();
}

static void* body(void* argument) {
  if (is_mode("by-main") || is_mode("main")) pthread_barrier_wait(&ready);
  if (is_mode("main")) wait_for_one_cpu();
  if (is_mode("itself")) sched_setaffinity(0, sizeof(chosen), &chosen);
  start_all();
  print_own("own");
  return argument;
}

int main(int count, char** arguments) {
  if (count == 2) {
    usleep(30000); /* so that it is seen first */
    print_own(arguments[1]);
    return 0;
  }
  if (count != 3) return 2;
  self = arguments[0];
  mode = arguments[1];
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_barrier_init(&ready, NULL, 2);
  const int stays = is_mode("class") || is_mode("mask");
  pthread_t thread;
  if (!stays) {
    CPU_ZERO(&chosen);
    CPU_SET(atoi(arguments[2]), &chosen);
    if (pthread_create(&thread, NULL, be_given_a_mask, NULL) != 0) return 3;
    pthread_barrier_wait(&ready);
  }
  if (is_mode("inherits")) sched_setaffinity(0, sizeof(chosen), &chosen);
  if (is_mode("attributes")) pthread_attr_setaffinity_np(&attributes, sizeof(chosen), &chosen);
  if (pthread_create(&thread, &attributes, stays ? choose_late : body, arguments[2]) != 0) return 3;
  if (is_mode("by-main")) pthread_setaffinity_np(thread, sizeof(chosen), &chosen);
  if (is_mode("main")) sched_setaffinity(0, sizeof(chosen), &chosen);
  if (is_mode("by-main") || is_mode("main")) pthread_barrier_wait(&ready);
  pthread_join(thread, NULL);
  return 0;
}
