/* odd_clones MODE: makes a child in a way that the C library does not, waits for it and prints how it
 * ended.
 *
 *   files | vm | vfork  shares its files, its memory, or its memory while its maker waits
 *   no-signal           sends no signal at its end
 *   untraced            asks not to be traced
 *   nondumpable         its maker first makes itself untraceable and gives up privileges
 *   main-exits          a thread made by main, which has ended when the process exits with 11
 *   io-uring            a kernel thread within the process; exit code 77 if that is not permitted */
#define _GNU_SOURCE
#include <linux/io_uring.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static char stack[65536] __attribute__((aligned(16)));

static int child(void* argument) {
  (void)argument;
  cpu_set_t mask;
  return sched_getaffinity(0, sizeof(mask), &mask) == 0 ? CPU_COUNT(&mask) : 0;
}

static int made_by(int flags, int wait_flags) {
  const pid_t made = clone(child, stack + sizeof(stack), flags, NULL);
  if (made < 0) return 1;
  int status = 0;
  if (waitpid(made, &status, wait_flags) != made || !WIFEXITED(status)) return 2;
  printf("sees %d CPUs\n", WEXITSTATUS(status));
  return 0;
}

static void* outlive(void* argument) {
  usleep(300000);
  _exit(11);
  return argument;
}

static int with_a_kernel_thread(void) {
  struct io_uring_params parameters;
  memset(&parameters, 0, sizeof(parameters));
  parameters.flags = IORING_SETUP_SQPOLL;
  const long ring = syscall(SYS_io_uring_setup, 8, &parameters);
  if (ring < 0) return 77;
  usleep(300000);
  close((int)ring);
  return 0;
}

int main(int count, char** arguments) {
  const char* mode = count > 1 ? arguments[1] : "";
  if (strcmp(mode, "files") == 0) return made_by(CLONE_FILES | SIGCHLD, 0);
  if (strcmp(mode, "vm") == 0) return made_by(CLONE_VM | CLONE_FS | CLONE_FILES | SIGCHLD, 0);
  if (strcmp(mode, "vfork") == 0) return made_by(CLONE_VM | CLONE_VFORK | SIGCHLD, 0);
  if (strcmp(mode, "no-signal") == 0) return made_by(0, __WCLONE);
  if (strcmp(mode, "untraced") == 0) return made_by(CLONE_UNTRACED | SIGCHLD, 0);
  if (strcmp(mode, "nondumpable") == 0) {
    prctl(PR_SET_DUMPABLE, 0);
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    return made_by(SIGCHLD, 0);
  }
  if (strcmp(mode, "main-exits") == 0) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, outlive, NULL) != 0) return 3;
    pthread_exit(NULL);
  }
  if (strcmp(mode, "io-uring") == 0) return with_a_kernel_thread();
  return 2;
}
