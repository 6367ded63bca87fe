#define _GNU_SOURCE
#include "millrace/dispatch/UDispatch.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

enum { most_open = 16, most_pids = 4096 };

static struct {
  millrace_dispatch* dispatch;
  pid_t application;
} open_ones[most_open];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static int refuse(int error) {
  errno = error;
  return -1;
}

/* Returns NULL with errno set if fd is not open. */
static millrace_dispatch* dispatch_of(int fd, pid_t* application) {
  millrace_dispatch* dispatch = NULL;
  pthread_mutex_lock(&mutex);
  if (fd >= 0 && fd < most_open) {
    dispatch = open_ones[fd].dispatch;
    if (application != NULL) *application = open_ones[fd].application;
  }
  pthread_mutex_unlock(&mutex);
  if (dispatch == NULL) errno = EBADF;
  return dispatch;
}

int udispatch_open(void) {
  millrace_dispatch* dispatch = millrace_dispatch_new();
  if (dispatch == NULL) return refuse(ENOMEM);
  pthread_mutex_lock(&mutex);
  int fd = 0;
  while (fd < most_open && open_ones[fd].dispatch != NULL)
    ++fd;
  if (fd < most_open) {
    open_ones[fd].dispatch = dispatch;
    open_ones[fd].application = 0;
  }
  pthread_mutex_unlock(&mutex);
  if (fd < most_open) return fd;
  millrace_dispatch_free(dispatch);
  return refuse(EMFILE);
}

void udispatch_close(int fd) {
  millrace_dispatch* dispatch = NULL;
  pthread_mutex_lock(&mutex);
  if (fd >= 0 && fd < most_open) {
    dispatch = open_ones[fd].dispatch;
    open_ones[fd].dispatch = NULL;
  }
  pthread_mutex_unlock(&mutex);
  millrace_dispatch_free(dispatch);
}

int bind_to_cpu(int fd, pid_t pid, int cpu) {
  millrace_dispatch* dispatch = dispatch_of(fd, NULL);
  return dispatch == NULL ? -1 : millrace_dispatch_bind_to_cpu(dispatch, pid, cpu);
}

int find_least_load_core(void) { return millrace_dispatch_find_least_load_core(); }

int get_nr_threads(int fd, pid_t pid) {
  return dispatch_of(fd, NULL) == NULL ? -1 : millrace_dispatch_get_nr_threads(pid);
}

int get_pids_on_task(int fd, pid_t* pids, int count, pid_t pid) {
  if (dispatch_of(fd, NULL) == NULL) return -1;
  if (count <= 0) return 0;
  pid_t* all = malloc(most_pids * sizeof *all);
  if (all == NULL) return refuse(ENOMEM);
  int filled = millrace_dispatch_get_pids_on_task(all, most_pids, pid) - 1;
  if (filled > count) filled = count;
  if (filled > 0) memcpy(pids, all + 1, (size_t)filled * sizeof *pids);
  free(all);
  return filled > 0 ? filled : 0;
}

int set_UDPlus_pids(int fd, pid_t own, pid_t application) {
  (void)own;
  if (dispatch_of(fd, NULL) == NULL) return -1;
  pthread_mutex_lock(&mutex);
  open_ones[fd].application = application;
  pthread_mutex_unlock(&mutex);
  return 0;
}

int enable_UDPlus_switch(int fd) {
  pid_t application = 0;
  millrace_dispatch* dispatch = dispatch_of(fd, &application);
  if (dispatch == NULL) return -1;
  return application <= 0 ? refuse(EINVAL) : millrace_dispatch_on(dispatch, application);
}

int disable_UDPlus_switch(int fd) {
  millrace_dispatch* dispatch = dispatch_of(fd, NULL);
  if (dispatch == NULL) return -1;
  millrace_dispatch_off(dispatch);
  return 0;
}

int wait_app_done(pid_t application) { return millrace_dispatch_wait_app_done(application); }
