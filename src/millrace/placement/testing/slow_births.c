/* slow_births WHEN: makes four threads whose births are slow, each faster than the one before, and stays
 * for 1.5 seconds.
 *
 *   before   each waits before it looks for its mask: in its first call to free()
 *   within   each waits while it takes its mask: in its first call to getppid()
 *
 * Both functions are replaced by this program. In a static program the C library's are used, and nothing
 * waits. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include <sys/syscall.h>

enum { threads = 4, step_us = 15000 };

static const char* when = "";
static atomic_int waiting;
static __thread int is_born;

extern void __libc_free(void*) __attribute__((weak));

static void wait_once(const char* here) {
  if (is_born || syscall(SYS_gettid) == getpid() || strcmp(when, here) != 0) return;
  is_born = 1;
  usleep(step_us * (threads - atomic_fetch_add(&waiting, 1)));
}

__attribute__((weak)) void free(void* memory) {
  wait_once("before");
  __libc_free(memory);
}

__attribute__((weak)) pid_t getppid(void) {
  wait_once("within");
  return (pid_t)syscall(SYS_getppid);
}

static void* body(void* argument) {
  usleep(1500000);
  return argument;
}

int main(int count, char** arguments) {
  if (count != 2) return 2;
  when = arguments[1];
  pthread_t made[threads];
  for (int i = 0; i < threads; ++i)
    if (pthread_create(&made[i], NULL, body, NULL) != 0) return 3;
  for (int i = 0; i < threads; ++i)
    pthread_join(made[i], NULL);
  return 0;
}
