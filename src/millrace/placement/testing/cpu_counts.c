/* cpu_counts: prints which CPUs the main thread is told about before and after it makes a thread, and the
 * kernel's mask for it. Each line is NAME MASK. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/wait.h>

static pthread_barrier_t end;

static void* body(void* argument) {
  (void)argument;
  pthread_barrier_wait(&end);
  return NULL;
}

static void print(const char* name, const cpu_set_t* mask) {
  char text[4096] = "";
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, mask)) {
      const size_t length = strlen(text);
      snprintf(text + length, sizeof(text) - length, "%s%d", length == 0 ? "" : ",", cpu);
    }
  printf("%s %s\n", name, text);
}

static cpu_set_t of_kernel(void) {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  syscall(SYS_sched_getaffinity, 0, sizeof(mask), &mask);
  return mask;
}

static void print_all(const char* when) {
  char name[64];
  cpu_set_t mask;
  CPU_ZERO(&mask);
  sched_getaffinity(0, sizeof(mask), &mask);
  snprintf(name, sizeof(name), "%s libc", when);
  print(name, &mask);
  CPU_ZERO(&mask);
  pthread_getaffinity_np(pthread_self(), sizeof(mask), &mask);
  snprintf(name, sizeof(name), "%s pthread", when);
  print(name, &mask);
  printf("%s count %d\n", when, get_nprocs());
}

int main(void) {
  const cpu_set_t given = of_kernel();
  print_all("start");
  pthread_barrier_init(&end, NULL, 2);
  pthread_t thread;
  if (pthread_create(&thread, NULL, body, NULL) != 0) return 3;
  cpu_set_t now = of_kernel();
  print("first", &now);
  for (int i = 0; i < 2000 && CPU_COUNT(&now) != 1; ++i) {
    usleep(1000);
    now = of_kernel();
  }
  print("kernel", &now);
  print_all("bound");
  fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    now = of_kernel();
    print("child", &now);
    fflush(stdout);
    _exit(0);
  }
  waitpid(child, NULL, 0);
  /* A mask that it chooses itself is reported to it as it is. */
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &given) && CPU_ISSET(cpu, &now)) {
      cpu_set_t one;
      CPU_ZERO(&one);
      CPU_SET(cpu, &one);
      sched_setaffinity(0, sizeof(one), &one);
    }
  print("own", &now);
  print_all("chosen");
  fflush(stdout);
  pthread_barrier_wait(&end);
  pthread_join(thread, NULL);
  return 0;
}
