/* orphans killed|exits ROUNDS: makers that die before they can report what they made. Each round makes a
 * process that makes others without end, and ends it meanwhile: by SIGKILL, or by the exit of its main
 * thread. Its children must end too; a pipe that they all hold open shows that. Exit code 3 if one does
 * not end within a minute, which is enough for the busiest machine. */
#define _GNU_SOURCE
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void* nothing(void* argument) { return argument; }

static void* make_threads(void* argument) {
  pthread_attr_t detached;
  pthread_attr_init(&detached);
  pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
  pthread_t thread;
  while (1)
    pthread_create(&thread, &detached, nothing, NULL);
  return argument;
}

static void pause_us(long us) {
  const struct timespec time = {0, us * 1000};
  nanosleep(&time, NULL);
}

static void make_without_end(int by_exit, long us) {
  if (by_exit) {
    pthread_t maker;
    pthread_create(&maker, NULL, make_threads, NULL);
    pause_us(us);
    _exit(0);
  }
  signal(SIGCHLD, SIG_IGN);
  while (1)
    if (fork() == 0) {
      pause_us(100);
      _exit(0);
    }
}

int main(int count, char** arguments) {
  const int by_exit = count > 1 && strcmp(arguments[1], "exits") == 0;
  const int rounds = count > 2 ? atoi(arguments[2]) : 10;
  srand(1);
  for (int round = 0; round < rounds; ++round) {
    int held[2];
    if (pipe(held) != 0) return 1;
    const long us = 100 + rand() % 1500;
    const pid_t maker = fork();
    if (maker == 0) {
      close(held[0]);
      make_without_end(by_exit, us);
    }
    close(held[1]);
    if (!by_exit) {
      pause_us(us);
      kill(maker, SIGKILL);
    }
    struct pollfd end = {held[0], POLLIN, 0};
    if (poll(&end, 1, 60000) == 0) {
      printf("round %d: something is held\n", round);
      return 3;
    }
    waitpid(maker, NULL, 0);
    close(held[0]);
  }
  return 0;
}
