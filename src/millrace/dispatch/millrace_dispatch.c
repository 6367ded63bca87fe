#define _GNU_SOURCE
#include "millrace/dispatch/millrace_dispatch.h"

#include "millrace/dispatch/cpu_load.h"
#include "millrace/dispatch/task_list.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <sys/syscall.h>
#include <sys/wait.h>

enum { between_looks_ns = 1000000, most_threads = 4096 };

struct millrace_dispatch {
  cpu_set_t own_cores;   /* like `cores`, but of the process that made it */
  pthread_mutex_t mutex; /* guards the members below */
  int is_on;
  struct millrace_own_thread watcher;
  pid_t bound_first; /* the first thread pinned by a call, with the mask that it had before */
  cpu_set_t mask_before;
  pid_t process;
  cpu_set_t cores; /* the first CPU of each core that the process may use */
  pid_t* known;    /* threads that existed before or are pinned, in ascending order */
  int known_count;
  atomic_int bound; /* relaxed: only a count for display */
  atomic_int stop;  /* relaxed: the join publishes the rest */
};

millrace_dispatch* millrace_dispatch_new(void) {
  millrace_dispatch* dispatch = calloc(1, sizeof *dispatch);
  if (dispatch == NULL) return NULL;
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) CPU_ZERO(&allowed);
  millrace_first_cpus_of_cores(&allowed, &dispatch->own_cores);
  if (pthread_mutex_init(&dispatch->mutex, NULL) != 0) {
    free(dispatch);
    return NULL;
  }
  return dispatch;
}

void millrace_dispatch_free(millrace_dispatch* dispatch) {
  if (dispatch == NULL) return;
  millrace_dispatch_off(dispatch);
  pthread_mutex_destroy(&dispatch->mutex);
  free(dispatch);
}

/* had: receives the previous mask; may be NULL. */
static int bind_thread(pid_t thread, int cpu, cpu_set_t* had) {
  cpu_set_t before;
  cpu_set_t mask;
  if (cpu < 0 || cpu >= CPU_SETSIZE) {
    errno = EINVAL;
    return -1;
  }
  if (sched_getaffinity(thread, sizeof before, &before) != 0) return -1;
  if (had != NULL) *had = before;
  CPU_ZERO(&mask);
  CPU_SET(cpu, &mask);
  if (sched_setaffinity(thread, sizeof mask, &mask) != 0) return -1;
  cpu_set_t granted;
  if (sched_getaffinity(thread, sizeof granted, &granted) != 0) return -1;
  if (CPU_EQUAL(&granted, &mask)) return 0;
  sched_setaffinity(thread, sizeof before, &before);
  errno = EINVAL;
  return -1;
}

int millrace_dispatch_bind_to_cpu(millrace_dispatch* dispatch, pid_t thread, int cpu) {
  cpu_set_t before;
  if (bind_thread(thread, cpu, &before) != 0) return -1;
  if (dispatch == NULL) return 0;
  if (thread == 0) thread = (pid_t)syscall(SYS_gettid);
  pthread_mutex_lock(&dispatch->mutex);
  if (dispatch->bound_first == 0) {
    dispatch->bound_first = thread;
    dispatch->mask_before = before;
  }
  pthread_mutex_unlock(&dispatch->mutex);
  return 0;
}

int millrace_dispatch_get_nr_threads(pid_t process) {
  pid_t* threads = malloc(most_threads * sizeof *threads);
  if (threads == NULL) return 0;
  const int count = millrace_tasks_of(process, threads, most_threads);
  free(threads);
  return count > 1 ? count - 1 : 0;
}

int millrace_dispatch_get_pids_on_task(pid_t* threads, int most, pid_t process) {
  return most > 0 ? millrace_tasks_of(process, threads, most) : 0;
}

/* Core number n, counted from 0; wraps around. */
static int core_number(const cpu_set_t* cores, int n) {
  const int count = CPU_COUNT(cores);
  n = count > 0 ? n % count : 0;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, cores) && n-- == 0) return cpu;
  return -1;
}

int millrace_dispatch_core(const millrace_dispatch* dispatch, int n) {
  if (dispatch != NULL && n >= 0) return core_number(&dispatch->own_cores, n);
  errno = EINVAL;
  return -1;
}

static int compare_pids(const void* a, const void* b) {
  const pid_t left = *(const pid_t*)a;
  const pid_t right = *(const pid_t*)b;
  return (left > right) - (left < right);
}

static int is_known(const millrace_dispatch* dispatch, pid_t thread) {
  return bsearch(&thread, dispatch->known, (size_t)dispatch->known_count, sizeof thread, compare_pids) !=
         NULL;
}

static void look(millrace_dispatch* dispatch, pid_t* threads) {
  const int count = millrace_tasks_of(dispatch->process, threads, most_threads);
  for (int i = 0; i < count; ++i) {
    if (threads[i] == dispatch->process || is_known(dispatch, threads[i])) continue;
    const int bound = atomic_load_explicit(&dispatch->bound, memory_order_relaxed);
    if (bind_thread(threads[i], core_number(&dispatch->cores, bound), NULL) == 0)
      atomic_store_explicit(&dispatch->bound, bound + 1, memory_order_relaxed);
  }
  /* Replaces the whole list, because the kernel may reuse the numbers of threads that ended. */
  for (int i = 0; i < count; ++i)
    dispatch->known[i] = threads[i];
  dispatch->known_count = count;
  qsort(dispatch->known, (size_t)count, sizeof *dispatch->known, compare_pids);
}

static void* watch(void* argument) {
  millrace_dispatch* dispatch = argument;
  pid_t* threads = malloc(most_threads * sizeof *threads);
  const struct timespec moment = {0, between_looks_ns};
  while (threads != NULL && !atomic_load_explicit(&dispatch->stop, memory_order_relaxed)) {
    look(dispatch, threads);
    nanosleep(&moment, NULL);
  }
  free(threads);
  return NULL;
}

int millrace_dispatch_on(millrace_dispatch* dispatch, pid_t process) {
  if (dispatch == NULL) {
    errno = EINVAL;
    return -1;
  }
  if (process == 0) process = getpid();
  pthread_mutex_lock(&dispatch->mutex);
  int error = 0;
  cpu_set_t allowed;
  if (dispatch->is_on)
    error = EBUSY;
  else if (sched_getaffinity(process, sizeof allowed, &allowed) != 0)
    error = errno;
  else if ((dispatch->known = malloc(most_threads * sizeof *dispatch->known)) == NULL)
    error = ENOMEM;
  if (error == 0) {
    dispatch->process = process;
    /* A main thread that was pinned before its first thread is born: use the CPUs that it had before. */
    if (process == dispatch->bound_first) allowed = dispatch->mask_before;
    millrace_first_cpus_of_cores(&allowed, &dispatch->cores);
    dispatch->known_count = millrace_tasks_of(process, dispatch->known, most_threads);
    qsort(dispatch->known, (size_t)dispatch->known_count, sizeof *dispatch->known, compare_pids);
    atomic_store_explicit(&dispatch->bound, 0, memory_order_relaxed);
    atomic_store_explicit(&dispatch->stop, 0, memory_order_relaxed);
    /* The watcher must not receive signals meant for the caller's threads. */
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    error = millrace_start_own_thread(&dispatch->watcher, watch, dispatch);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error != 0) {
      free(dispatch->known);
      dispatch->known = NULL;
    } else {
      dispatch->is_on = 1;
    }
  }
  pthread_mutex_unlock(&dispatch->mutex);
  if (error == 0) return 0;
  errno = error;
  return -1;
}

void millrace_dispatch_off(millrace_dispatch* dispatch) {
  if (dispatch == NULL) return;
  pthread_mutex_lock(&dispatch->mutex);
  if (dispatch->is_on) {
    atomic_store_explicit(&dispatch->stop, 1, memory_order_relaxed);
    millrace_join_own_thread(&dispatch->watcher);
    free(dispatch->known);
    dispatch->known = NULL;
    dispatch->is_on = 0;
  }
  pthread_mutex_unlock(&dispatch->mutex);
}

int millrace_dispatch_bound(const millrace_dispatch* dispatch) {
  return dispatch == NULL ? 0 : atomic_load_explicit(&dispatch->bound, memory_order_relaxed);
}

int millrace_dispatch_wait_app_done(pid_t process) {
  /* waitpid() takes 0 and negative numbers as "any child". Waiting for the caller itself would never end. */
  if (process <= 0 || process == getpid()) {
    errno = EINVAL;
    return -1;
  }
  int status = 0;
  pid_t ended = -1;
  do
    ended = waitpid(process, &status, 0);
  while (ended < 0 && errno == EINTR);
  if (ended == process) return status;
  if (errno != ECHILD) return -1;
  /* Not a child: a pidfd reports its end (Linux 5.3 and newer). Without one, poll. */
  const int descriptor = (int)syscall(SYS_pidfd_open, process, 0);
  if (descriptor < 0 && errno == ESRCH) return -1;
  if (descriptor >= 0) {
    struct pollfd end = {.fd = descriptor, .events = POLLIN};
    while (poll(&end, 1, -1) < 0 && errno == EINTR) {
    }
    close(descriptor);
    return 0;
  }
  const struct timespec moment = {0, between_looks_ns};
  while (kill(process, 0) == 0 || errno == EPERM)
    nanosleep(&moment, NULL);
  return 0;
}
