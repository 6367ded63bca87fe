#define _GNU_SOURCE
#include "millrace/dispatch/task_list.h"

#include <dirent.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <sys/syscall.h>

static pthread_mutex_t own_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct millrace_own_thread* own_threads;

void millrace_leave_out(struct millrace_own_thread* own) {
  own->process = getpid();
  own->thread = (pid_t)syscall(SYS_gettid);
  pthread_mutex_lock(&own_mutex);
  own->next = own_threads;
  own_threads = own;
  pthread_mutex_unlock(&own_mutex);
}

void millrace_leave_out_no_more(struct millrace_own_thread* own) {
  pthread_mutex_lock(&own_mutex);
  struct millrace_own_thread** at = &own_threads;
  while (*at != NULL && *at != own)
    at = &(*at)->next;
  if (*at == own) *at = own->next;
  pthread_mutex_unlock(&own_mutex);
}

/* A fork inherits the list but not the threads, hence the process number. */
static int is_own(pid_t process, pid_t thread) {
  int found = 0;
  pthread_mutex_lock(&own_mutex);
  for (const struct millrace_own_thread* own = own_threads; own != NULL && !found; own = own->next)
    found = own->thread == thread && own->process == process;
  pthread_mutex_unlock(&own_mutex);
  return found;
}

int millrace_tasks_of(pid_t process, pid_t* threads, int most) {
  char path[64];
  if (process == 0) process = getpid();
  snprintf(path, sizeof path, "/proc/%d/task", (int)process);
  DIR* folder = opendir(path);
  if (folder == NULL) return 0;
  int count = 0;
  int main_at = -1;
  for (struct dirent* entry = readdir(folder); entry != NULL && count < most; entry = readdir(folder)) {
    char* end = NULL;
    const long number = strtol(entry->d_name, &end, 10);
    if (end == entry->d_name || *end != '\0' || number <= 0) continue;
    if (is_own(process, (pid_t)number)) continue;
    if (number == process) main_at = count;
    threads[count++] = (pid_t)number;
  }
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
