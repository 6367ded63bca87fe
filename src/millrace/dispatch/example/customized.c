/* A customized UDispatch+ (Code 2 of the paper), and the program with four slave threads that it controls:
 *
 *     customized
 *
 * Prints how many CPUs each slave thread may use in the end. Two of the four are pinned. */
#define _GNU_SOURCE
#include "UDispatch.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>

#define NR_THREADS 4

static void UDPlus_main(int fd, pid_t ppid, pid_t cpid, unsigned char bm_flag) {
  int nr_slave_threads = 0, ret;
  pid_t* pidary = NULL;
  (void)ppid;
  (void)bm_flag;
  /* get the pids of the application's threads */
  while (nr_slave_threads != NR_THREADS)
    nr_slave_threads = get_nr_threads(fd, cpid);
  pidary = (pid_t*)malloc((size_t)nr_slave_threads * sizeof(pid_t));
  get_pids_on_task(fd, pidary, nr_slave_threads, cpid);
  /* pin threads to specific cores */
  ret = bind_to_cpu(fd, pidary[1], find_least_load_core());
  if (ret) perror("bind_to_cpu");
  bind_to_cpu(fd, pidary[3], find_least_load_core());
  for (int i = 0; i < nr_slave_threads; ++i) {
    cpu_set_t mask;
    if (sched_getaffinity(pidary[i], sizeof mask, &mask) == 0)
      printf("thread %d: %d CPU%s\n", i, CPU_COUNT(&mask), CPU_COUNT(&mask) == 1 ? "" : "s");
  }
  free(pidary);
}

static void* wait_for_the_end(void* nothing) {
  pause();
  return nothing;
}

int main(void) {
  const int fd = udispatch_open();
  const pid_t child = fd < 0 ? -1 : fork();
  if (child == 0) {
    pthread_t threads[NR_THREADS];
    for (int i = 0; i < NR_THREADS; ++i)
      if (pthread_create(&threads[i], NULL, wait_for_the_end, NULL) != 0) _exit(1);
    pause();
  }
  if (child < 0) {
    perror("customized");
    return 1;
  }
  UDPlus_main(fd, getpid(), child, 0);
  kill(child, SIGTERM);
  wait_app_done(child);
  udispatch_close(fd);
  return 0;
}
