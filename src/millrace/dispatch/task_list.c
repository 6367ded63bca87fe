#define _GNU_SOURCE
#include "millrace/dispatch/task_list.h"

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <sys/syscall.h>

/* Held while threads are listed, and from before a thread of this library begins until it is known. */
static pthread_mutex_t own_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct millrace_own_thread* own_threads;

static void lock_own(void) { pthread_mutex_lock(&own_mutex); }
static void unlock_own(void) { pthread_mutex_unlock(&own_mutex); }

/* The child of a fork must be able to list threads. */
__attribute__((constructor)) static void keep_usable_in_children(void) {
  pthread_atfork(lock_own, unlock_own, unlock_own);
}

static void* run_own_thread(void* argument) {
  struct millrace_own_thread* own = argument;
  own->thread = (pid_t)syscall(SYS_gettid);
  sem_post(&own->begun);
  return own->work(own->argument);
}

int millrace_start_own_thread(struct millrace_own_thread* own, void* (*work)(void*), void* argument) {
  own->work = work;
  own->argument = argument;
  own->process = getpid();
  if (sem_init(&own->begun, 0, 0) != 0) return errno;
  lock_own();
  const int error = pthread_create(&own->handle, NULL, run_own_thread, own);
  if (error == 0) {
    while (sem_wait(&own->begun) != 0 && errno == EINTR) {
    }
    own->next = own_threads;
    own_threads = own;
  }
  unlock_own();
  sem_destroy(&own->begun);
  return error;
}

void millrace_join_own_thread(struct millrace_own_thread* own) {
  pthread_join(own->handle, NULL);
  /* The kernel lists a thread for a moment longer. Its number may be in use again soon, hence the limit. */
  enum { most_looks = 1000 };
  for (int i = 0; i < most_looks && syscall(SYS_tgkill, getpid(), own->thread, 0) == 0; ++i)
    sched_yield();
  lock_own();
  struct millrace_own_thread** at = &own_threads;
  while (*at != NULL && *at != own)
    at = &(*at)->next;
  if (*at == own) *at = own->next;
  unlock_own();
}

/* A fork inherits the list but not the threads, hence the process number. */
static int is_own(pid_t process, pid_t thread) {
  for (const struct millrace_own_thread* own = own_threads; own != NULL; own = own->next)
    if (own->thread == thread && own->process == process) return 1;
  return 0;
}

int millrace_tasks_of(pid_t process, pid_t* threads, int most) {
  char path[64];
  if (process == 0) process = getpid();
  snprintf(path, sizeof path, "/proc/%d/task", (int)process);
  DIR* folder = opendir(path);
  if (folder == NULL) return 0;
  int count = 0;
  int main_at = -1;
  lock_own();
  for (struct dirent* entry = readdir(folder); entry != NULL && count < most; entry = readdir(folder)) {
    char* end = NULL;
    const long number = strtol(entry->d_name, &end, 10);
    if (end == entry->d_name || *end != '\0' || number <= 0) continue;
    if (is_own(process, (pid_t)number)) continue;
    if (number == process) main_at = count;
    threads[count++] = (pid_t)number;
  }
  unlock_own();
  closedir(folder);
  /* The kernel lists threads in order of birth. Moving the main thread to the front keeps that order. */
  for (int i = main_at; i > 0; --i) {
    const pid_t other = threads[i - 1];
    threads[i - 1] = threads[i];
    threads[i] = other;
  }
  return count;
}

/* Returns the lowest CPU that shares a core with this one; -1 if the kernel does not report it. */
static int first_sibling(int cpu) {
  char path[96];
  snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list", cpu);
  FILE* file = fopen(path, "re");
  if (file == NULL) return -1;
  int first = -1;
  if (fscanf(file, "%d", &first) != 1) first = -1;
  fclose(file);
  return first;
}

void millrace_first_cpus_of_cores(const cpu_set_t* allowed, cpu_set_t* first) {
  cpu_set_t cores_seen;
  CPU_ZERO(&cores_seen);
  CPU_ZERO(first);
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, allowed)) continue;
    const int core = first_sibling(cpu);
    if (core >= 0 && core < CPU_SETSIZE) {
      if (CPU_ISSET(core, &cores_seen)) continue;
      CPU_SET(core, &cores_seen);
    }
    CPU_SET(cpu, first);
  }
}
