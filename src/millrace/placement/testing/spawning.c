/* spawning: main starts this program with every C library call that can, once main is pinned to one CPU or
 * a second has passed. Then a thread does the same. Each instance prints WHO CALL MASK. */
#define _GNU_SOURCE
#include "masks.h"

#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <stdlib.h>
#include <unistd.h>

#include <sys/syscall.h>
#include <sys/wait.h>

extern char** environ;

static const char* self;
static pthread_barrier_t main_is_done;

static void end(pid_t child) {
  if (child > 0) waitpid(child, NULL, 0);
}

/* By system call, because a preloaded library may change the C library's reply. */
static int cpus_of_kernel(void) {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  syscall(SYS_sched_getaffinity, 0, sizeof(mask), &mask);
  return CPU_COUNT(&mask);
}

enum { exec_calls = 8 };
static const char* const exec_names[exec_calls] = {"execv", "execve", "execvp", "execvpe",
                                                   "execl", "execle", "execlp", "fexecve"};

__attribute__((noinline)) static void execute(int call, char* name) {
  char* arguments[] = {(char*)self, name, NULL};
  switch (call) {
  case 0:
    execv(self, arguments);
    break;
  case 1:
    execve(self, arguments, environ);
    break;
  case 2:
    execvp(self, arguments);
    break;
  case 3:
    execvpe(self, arguments, environ);
    break;
  case 4:
    execl(self, self, name, (char*)NULL);
    break;
  case 5:
    execle(self, self, name, (char*)NULL, environ);
    break;
  case 6:
    execlp(self, self, name, (char*)NULL);
    break;
  default:
    fexecve(open(self, O_RDONLY | O_CLOEXEC), arguments, environ);
    break;
  }
  _exit(99);
}

/* Waits until the kernel has pinned the caller. */
static void print_place(const char* who, const char* when) {
  for (int i = 0; i < 1000 && cpus_of_kernel() != 1; ++i)
    usleep(1000);
  printf("%s %s %d\n", who, when, cpus_of_kernel());
  fflush(stdout);
}

static void start_all(const char* who) {
  char name[64];
  print_place(who, "before");
  for (int call = 0; call < exec_calls; ++call) {
    snprintf(name, sizeof(name), "%s fork-%s", who, exec_names[call]);
    pid_t child = fork();
    if (child == 0) execute(call, name);
    end(child);
    snprintf(name, sizeof(name), "%s vfork-%s", who, exec_names[call]);
    child = vfork();
    if (child == 0) execute(call, name);
    end(child);
  }
  pid_t child = 0;
  snprintf(name, sizeof(name), "%s posix_spawn", who);
  char* arguments[] = {(char*)self, name, NULL};
  if (posix_spawn(&child, self, NULL, NULL, arguments, environ) == 0) end(child);
  snprintf(name, sizeof(name), "%s posix_spawnp", who);
  if (posix_spawnp(&child, self, NULL, NULL, arguments, environ) == 0) end(child);
  char command[4096];
  snprintf(command, sizeof(command), "'%s' '%s system'", self, who);
  if (system(command) != 0) exit(3);
  snprintf(command, sizeof(command), "'%s' '%s popen'", self, who);
  FILE* pipe = popen(command, "w");
  if (pipe == NULL || pclose(pipe) != 0) exit(3);
  print_place(who, "after");
}

static void* body(void* argument) {
  (void)argument;
  pthread_barrier_wait(&main_is_done);
  start_all("thread");
  return NULL;
}

int main(int count, char** arguments) {
  if (count > 1) {
    char mask[4096];
    own_mask(mask, sizeof(mask));
    printf("%s %s\n", arguments[1], mask);
    return 0;
  }
  self = arguments[0];
  pthread_t thread;
  pthread_barrier_init(&main_is_done, NULL, 2);
  if (pthread_create(&thread, NULL, body, NULL) != 0) return 3;
  start_all("main");
  pthread_barrier_wait(&main_is_done);
  pthread_join(thread, NULL);
  return 0;
}
