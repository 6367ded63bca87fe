/* Tests of libmillrace_dispatch, in C like its users. usage: dispatch_test DEFAULT_TEMPLATE CUSTOMIZED */
#define _GNU_SOURCE
#include "millrace/dispatch/UDispatch.h"
#include "millrace/dispatch/cpu_load.h"
#include "millrace/dispatch/dispatch_testing.h"
#include "millrace/dispatch/task_list.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <string.h>
#include <time.h>

static void sleep_ms(long ms) {
  const struct timespec time = {ms / 1000, ms % 1000 * 1000000};
  nanosleep(&time, NULL);
}

/* Forks with the signal blocked, so that the child can wait for it however late it runs. */
static pid_t fork_blocking(int signal) {
  sigset_t blocked;
  sigset_t before;
  sigemptyset(&blocked);
  sigaddset(&blocked, signal);
  sigprocmask(SIG_BLOCK, &blocked, &before);
  const pid_t child = fork();
  if (child != 0) sigprocmask(SIG_SETMASK, &before, NULL);
  return child;
}

static void* wait_for_post(void* semaphore) {
  sem_wait(semaphore);
  return NULL;
}

/* Computed by hand: CPU 2 was busy for 5 ticks, CPUs 1 and 3 for 1 each; 0 is not allowed, 4 does not exist.
 */
static void test_the_least_busy_is_found(void) {
  const long long before[] = {0, 10, 10, 10, -1};
  const long long after[] = {0, 11, 15, 11, -1};
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  for (int cpu = 1; cpu <= 4; ++cpu)
    CPU_SET(cpu, &allowed);
  EXPECT(millrace_least_busy(&allowed, before, after, NULL, 5, -1) == 1);
  EXPECT(millrace_least_busy(&allowed, before, after, NULL, 5, 1) == 3);
  EXPECT(millrace_least_busy(&allowed, before, after, NULL, 5, 3) == 1);
  CPU_CLR(1, &allowed);
  CPU_CLR(3, &allowed);
  EXPECT(millrace_least_busy(&allowed, before, after, NULL, 5, 2) == 2);
  CPU_ZERO(&allowed);
  EXPECT(millrace_least_busy(&allowed, before, after, NULL, 5, -1) == -1);
}

static void test_the_load_is_read(void) {
  long long busy[CPU_SETSIZE];
  EXPECT(millrace_busy_ticks(busy, CPU_SETSIZE) == 0);
  const cpu_set_t allowed = allowed_here();
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &allowed)) EXPECT(busy[cpu] >= 0);
  const int found = find_least_load_core();
  EXPECT(found >= 0 && CPU_ISSET(found, &allowed));
}

static void test_cores_are_taken_once(void) {
  const cpu_set_t allowed = allowed_here();
  cpu_set_t first;
  millrace_first_cpus_of_cores(&allowed, &first);
  cpu_set_t outside;
  CPU_XOR(&outside, &first, &allowed);
  CPU_AND(&outside, &outside, &first);
  EXPECT(CPU_COUNT(&first) >= 1 && CPU_COUNT(&outside) == 0);
  EXPECT(lowest(&first) == lowest(&allowed));
  millrace_dispatch* dispatch = millrace_dispatch_new();
  EXPECT(millrace_dispatch_core(dispatch, 0) == lowest(&first));
  EXPECT(millrace_dispatch_core(dispatch, CPU_COUNT(&first)) == lowest(&first));
  EXPECT(millrace_dispatch_core(dispatch, -1) == -1 && errno == EINVAL);
  millrace_dispatch_free(dispatch);
}

static void test_a_thread_is_bound_or_left_alone(void) {
  sem_t end;
  sem_init(&end, 0, 0);
  pthread_t thread;
  pthread_create(&thread, NULL, wait_for_post, &end);
  pid_t threads[8];
  EXPECT(get_nr_threads(-1, 0) == -1 && errno == EBADF);
  const int fd = udispatch_open();
  EXPECT(get_nr_threads(fd, getpid()) == 1);
  EXPECT(millrace_dispatch_get_pids_on_task(threads, 8, getpid()) == 2 && threads[0] == getpid());
  EXPECT(millrace_dispatch_get_pids_on_task(threads, 1, getpid()) == 1);
  pid_t slave = 0;
  EXPECT(get_pids_on_task(fd, &slave, 1, getpid()) == 1 && slave != getpid() && slave > 0);
  const cpu_set_t allowed = allowed_here();
  const int cpu = lowest(&allowed);
  cpu_set_t mask;
  EXPECT(bind_to_cpu(fd, slave, CPU_SETSIZE - 1) == -1 && errno == EINVAL);
  EXPECT(sched_getaffinity(slave, sizeof mask, &mask) == 0 && CPU_EQUAL(&mask, &allowed));
  EXPECT(bind_to_cpu(fd, slave, -1) == -1 && errno == EINVAL);
  EXPECT(bind_to_cpu(fd, slave, cpu) == 0);
  EXPECT(sched_getaffinity(slave, sizeof mask, &mask) == 0 && CPU_COUNT(&mask) == 1 && CPU_ISSET(cpu, &mask));
  sem_post(&end);
  pthread_join(thread, NULL);
  udispatch_close(fd);
  EXPECT(bind_to_cpu(fd, slave, cpu) == -1 && errno == EBADF);
}

/* Same order as in the paper's listing: first pin main, then turn the switch on. */
static void test_threads_of_a_bound_main_have_the_cores_that_it_had(void) {
  const cpu_set_t allowed = allowed_here();
  cpu_set_t cores;
  millrace_first_cpus_of_cores(&allowed, &cores);
  const pid_t child = fork_blocking(SIGUSR1);
  if (child == 0) {
    sem_t never;
    sem_init(&never, 0, 0);
    pthread_t thread;
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGUSR1);
    int signal = 0;
    sigwait(&signals, &signal);
    for (int i = 0; i < 2; ++i)
      pthread_create(&thread, NULL, wait_for_post, &never);
    pause();
  }
  millrace_dispatch* dispatch = millrace_dispatch_new();
  EXPECT(millrace_dispatch_bind_to_cpu(dispatch, child, lowest(&allowed)) == 0);
  EXPECT(millrace_dispatch_on(dispatch, child) == 0);
  kill(child, SIGUSR1);
  for (int i = 0; i < 5000 && millrace_dispatch_bound(dispatch) < 2; ++i)
    sleep_ms(1);
  pid_t threads[3] = {0};
  EXPECT(millrace_dispatch_get_pids_on_task(threads, 3, child) == 3);
  cpu_set_t together;
  CPU_ZERO(&together);
  for (int i = 1; i < 3; ++i) {
    cpu_set_t mask;
    EXPECT(sched_getaffinity(threads[i], sizeof mask, &mask) == 0 && CPU_COUNT(&mask) == 1);
    CPU_OR(&together, &together, &mask);
  }
  EXPECT(CPU_COUNT(&together) == (CPU_COUNT(&cores) < 2 ? CPU_COUNT(&cores) : 2));
  millrace_dispatch_free(dispatch);
  kill(child, SIGKILL);
  waitpid(child, NULL, 0);
}

static void test_threads_are_bound_in_turn_while_it_is_on(void) {
  enum { count = 5 };
  millrace_dispatch* dispatch = millrace_dispatch_new();
  EXPECT(dispatch != NULL);
  const pid_t child = fork_blocking(SIGUSR1);
  if (child == 0) {
    sem_t never;
    sem_init(&never, 0, 0);
    pthread_t thread;
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGUSR1);
    pthread_create(&thread, NULL, wait_for_post, &never); /* exists before dispatch is turned on */
    for (int round = 0; round < 2; ++round) {
      int signal = 0;
      sigwait(&signals, &signal);
      for (int i = 0; i < count; ++i)
        pthread_create(&thread, NULL, wait_for_post, &never);
    }
    pause();
  }
  while (millrace_dispatch_get_nr_threads(child) != 1)
    sleep_ms(1);
  EXPECT(millrace_dispatch_on(dispatch, child) == 0);
  EXPECT(millrace_dispatch_on(dispatch, child) == -1 && errno == EBUSY);
  kill(child, SIGUSR1);
  for (int i = 0; i < 5000 && millrace_dispatch_bound(dispatch) < count; ++i)
    sleep_ms(1);
  EXPECT(millrace_dispatch_bound(dispatch) == count);
  millrace_dispatch_off(dispatch);
  millrace_dispatch_off(dispatch);
  const cpu_set_t allowed = allowed_here();
  cpu_set_t cores;
  millrace_first_cpus_of_cores(&allowed, &cores);
  pid_t threads[32];
  EXPECT(millrace_dispatch_get_pids_on_task(threads, 32, child) == 2 + count);
  int used[CPU_SETSIZE] = {0};
  for (int i = 0; i < 2 + count; ++i) {
    cpu_set_t mask;
    EXPECT(sched_getaffinity(threads[i], sizeof mask, &mask) == 0);
    if (i < 2)
      EXPECT(CPU_EQUAL(&mask, &allowed));
    else
      EXPECT(CPU_COUNT(&mask) == 1 && CPU_ISSET(lowest(&mask), &cores));
    if (i >= 2) ++used[lowest(&mask)];
  }
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &cores)) EXPECT(used[cpu] <= (count + CPU_COUNT(&cores) - 1) / CPU_COUNT(&cores));
  kill(child, SIGUSR1);
  for (int i = 0; i < 5000 && millrace_dispatch_get_nr_threads(child) < 1 + 2 * count; ++i)
    sleep_ms(1);
  EXPECT(millrace_dispatch_bound(dispatch) == count); /* unchanged: dispatch is off */
  kill(child, SIGTERM);
  const int status = millrace_dispatch_wait_app_done(child);
  EXPECT(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
  EXPECT(millrace_dispatch_on(dispatch, child) == -1 && errno == ESRCH);
  millrace_dispatch_free(dispatch);
  millrace_dispatch_free(NULL);
}

static void test_the_threads_that_watch_are_not_among_those_of_the_caller(void) {
  sem_t never;
  sem_init(&never, 0, 0);
  millrace_dispatch* dispatch = millrace_dispatch_new();
  millrace_dispatch* other = millrace_dispatch_new();
  EXPECT(dispatch != NULL && other != NULL);
  EXPECT(millrace_dispatch_on(dispatch, 0) == 0);
  EXPECT(millrace_dispatch_on(other, 0) == 0);
  EXPECT(millrace_dispatch_get_nr_threads(0) == 0);
  EXPECT(millrace_dispatch_get_nr_threads(getpid()) == 0);
  pthread_t thread;
  pthread_create(&thread, NULL, wait_for_post, &never);
  EXPECT(millrace_dispatch_get_nr_threads(0) == 1);
  for (int i = 0; i < 5000 && millrace_dispatch_bound(dispatch) < 1; ++i)
    sleep_ms(1);
  millrace_dispatch_off(other);
  millrace_dispatch_off(dispatch);
  EXPECT(millrace_dispatch_bound(dispatch) == 1);
  cpu_set_t mask;
  EXPECT(pthread_getaffinity_np(thread, sizeof mask, &mask) == 0);
  EXPECT(CPU_COUNT(&mask) == 1 && CPU_ISSET(millrace_dispatch_core(dispatch, 0), &mask));
  sem_post(&never);
  pthread_join(thread, NULL);
  sem_destroy(&never);
  millrace_dispatch_free(other);
  millrace_dispatch_free(dispatch);
}

static void test_waiting_ends_for_what_is_no_child_or_nothing(void) {
  int ends[2];
  EXPECT(pipe(ends) == 0);
  const pid_t child = fork();
  if (child == 0) {
    const pid_t grandchild = fork();
    if (grandchild == 0) {
      sleep_ms(30);
      _exit(7);
    }
    _exit(write(ends[1], &grandchild, sizeof grandchild) == sizeof grandchild ? 0 : 1);
  }
  pid_t grandchild = 0;
  EXPECT(read(ends[0], &grandchild, sizeof grandchild) == sizeof grandchild);
  EXPECT(millrace_dispatch_wait_app_done(child) == 0);
  const int status = millrace_dispatch_wait_app_done(grandchild);
  EXPECT(status == 0 || (status == -1 && errno == ESRCH)); /* it had already ended */
  EXPECT(millrace_dispatch_wait_app_done(child) == -1 && errno == ESRCH);
}

/* waitpid() takes these numbers as "any child": it would reap a child that the caller did not ask about. */
static void test_waiting_for_a_group_or_oneself_is_refused(void) {
  const pid_t child = fork();
  if (child == 0) _exit(7);
  for (const pid_t* wrong = (const pid_t[]){0, -1, -child, getpid(), 1}; *wrong != 1; ++wrong)
    EXPECT(millrace_dispatch_wait_app_done(*wrong) == -1 && errno == EINVAL);
  const int status = millrace_dispatch_wait_app_done(child);
  EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 7);
}

static void test_without_a_dispatch_nothing_is_done(void) {
  EXPECT(millrace_dispatch_on(NULL, 0) == -1 && errno == EINVAL);
  EXPECT(millrace_dispatch_core(NULL, 0) == -1 && errno == EINVAL);
  EXPECT(millrace_dispatch_bound(NULL) == 0);
  millrace_dispatch_off(NULL);
  EXPECT(millrace_dispatch_get_nr_threads(-1) == 0);
  pid_t thread = 0;
  EXPECT(millrace_dispatch_get_pids_on_task(&thread, 1, -1) == 0);
  EXPECT(millrace_dispatch_get_pids_on_task(&thread, -1, 0) == 0);
  EXPECT(millrace_dispatch_bind_to_cpu(NULL, -1, 0) == -1);
}

/* The example must exit with 0 and print this many such lines. */
static void expect_lines(const char* program, const char* argument, const char* line, int lines) {
  char command[4096];
  snprintf(command, sizeof command, "'%s' %s", program, argument);
  FILE* output = popen(command, "r");
  EXPECT(output != NULL);
  if (output == NULL) return;
  char text[256];
  int found = 0;
  while (fgets(text, sizeof text, output) != NULL)
    found += strstr(text, line) != NULL;
  EXPECT(pclose(output) == 0);
  EXPECT(found == lines);
}

int main(int argc, char** argv) {
  if (argc != 3) {
    fprintf(stderr, "usage: dispatch_test DEFAULT_TEMPLATE CUSTOMIZED\n");
    return 2;
  }
  test_the_least_busy_is_found();
  test_the_load_is_read();
  test_cores_are_taken_once();
  test_a_thread_is_bound_or_left_alone();
  test_threads_of_a_bound_main_have_the_cores_that_it_had();
  test_threads_are_bound_in_turn_while_it_is_on();
  test_the_threads_that_watch_are_not_among_those_of_the_caller();
  test_waiting_ends_for_what_is_no_child_or_nothing();
  test_waiting_for_a_group_or_oneself_is_refused();
  test_without_a_dispatch_nothing_is_done();
  expect_lines(argv[1], "echo dispatched", "dispatched", 1);
  const cpu_set_t allowed = allowed_here();
  /* -m pins the main thread soon after it began: its list of CPUs then has no comma or dash. */
  expect_lines(argv[1],
               "-m sh -c 'until grep Cpus_allowed_list /proc/$$/status | grep -v \"[,-]\"; do :; done'",
               "Cpus_allowed_list", 1);
  expect_lines(argv[2], "", "thread", 4);
  if (CPU_COUNT(&allowed) > 1) expect_lines(argv[2], "", ": 1 CPU\n", 2);
  if (failures == 0) printf("dispatch: all well\n");
  return failures == 0 ? 0 : 1;
}
