#define _GNU_SOURCE
#include "process_masks.h"

#include <alloca.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <sys/syscall.h>

/* A new process inherits the mask of the thread that makes it. After fork() and vfork() it puts back that
 * thread's original mask itself. posix_spawn(), system() and popen() offer no moment for that. So the calling
 * thread first puts back its own mask and registers on the board. millrace sees the entry and gives the
 * thread its mask again. The thread does not take it back itself, because millrace may be gone by then.
 *
 * A process between vfork() and exec shares its parent's memory. So the library writes nothing there, and
 * neither allocates nor locks. */

#define EXPORTED __attribute__((visibility("default")))

static struct millrace_mask_board* board;
static pid_t process; /* the process that owns this memory; vfork() children share it */

static int (*real_posix_spawn)(pid_t*, const char*, const posix_spawn_file_actions_t*,
                               const posix_spawnattr_t*, char* const*, char* const*);
static int (*real_posix_spawnp)(pid_t*, const char*, const posix_spawn_file_actions_t*,
                                const posix_spawnattr_t*, char* const*, char* const*);
static int (*real_system)(const char*);
static FILE* (*real_popen)(const char*, const char*);
static int (*real_execvpe)(const char*, char* const*, char* const*);
static int (*real_fexecve)(int, char* const*, char* const*);

const uint64_t* millrace_original_of(const uint64_t* mask) {
  const uint32_t count = atomic_load_explicit(&board->given_count, memory_order_acquire);
  for (uint32_t i = count < millrace_board_given ? count : millrace_board_given; i > 0; --i)
    if (memcmp(board->given[i - 1].mask, mask, sizeof(board->given[i - 1].mask)) == 0)
      return board->given[i - 1].original;
  return NULL;
}

static const uint64_t* own_original(void) {
  uint64_t mask[millrace_board_words] = {0};
  if (board == NULL || millrace_has_chosen() || syscall(SYS_sched_getaffinity, 0, sizeof(mask), mask) < 0)
    return NULL;
  return millrace_original_of(mask);
}

static void set_mask(const uint64_t* mask) {
  syscall(SYS_sched_setaffinity, 0, sizeof(uint64_t) * millrace_board_words, mask);
}

void millrace_put_back(void) {
  const uint64_t* original = own_original();
  if (original != NULL) set_mask(original);
}

static void begin_as_process(void) {
  const int kept = errno;
  process = getpid();
  millrace_put_back();
  millrace_become_main();
  errno = kept;
}

/* Returns the caller's entry, made if necessary; NULL if the table is full. */
static MILLRACE_ATOMIC(uint32_t) * own_entry(void) {
  const uint32_t thread = (uint32_t)syscall(SYS_gettid);
  MILLRACE_ATOMIC(uint32_t)* free_entry = NULL;
  for (int i = 0; i < millrace_board_starters; ++i) {
    const uint32_t entered = atomic_load(&board->spawning[i]);
    if ((entered & ~(MILLRACE_STARTING | MILLRACE_HELD)) == thread) return &board->spawning[i];
    if (entered == 0 && free_entry == NULL) free_entry = &board->spawning[i];
  }
  return free_entry;
}

/* Not from the vDSO, which reads the time-stamp counter: a program may have forbidden that (PR_SET_TSC). */
static void read_clock(struct timespec* time) { syscall(SYS_clock_gettime, CLOCK_MONOTONIC, time); }

/* So that millrace does not set the mask between put-back and start. */
static void wait_while_held(MILLRACE_ATOMIC(uint32_t) * entry, uint32_t thread) {
  enum { patience_ns = 2000000, second_ns = 1000000000 };
  if (atomic_load(entry) != (thread | MILLRACE_HELD)) return;
  struct timespec begun, now;
  read_clock(&begun);
  while (atomic_load(entry) == (thread | MILLRACE_HELD)) {
    sched_yield();
    read_clock(&now);
    if ((now.tv_sec - begun.tv_sec) * second_ns + now.tv_nsec - begun.tv_nsec > patience_ns) break;
  }
  uint32_t held = thread | MILLRACE_HELD;
  atomic_compare_exchange_strong(entry, &held, thread);
}

/* Returns the argument for done_starting(). */
static MILLRACE_ATOMIC(uint32_t) * begin_starting(void) {
  if (board == NULL || atomic_load_explicit(&board->traced, memory_order_relaxed)) return NULL;
  const uint32_t thread = (uint32_t)syscall(SYS_gettid);
  MILLRACE_ATOMIC(uint32_t)* entry = own_entry();
  if (entry == NULL) return NULL;
  /* A thread that is still registered has its original mask, and is given millrace's as soon as possible. */
  uint32_t before;
  do {
    wait_while_held(entry, thread);
    before = thread;
  } while (!atomic_compare_exchange_strong(entry, &before, thread | MILLRACE_STARTING) &&
           before == (thread | MILLRACE_HELD));
  const bool was_entered = before == thread;
  /* A signal handler starts a program as well; the interrupted call completes the entry. */
  const bool starts_two = before == (thread | MILLRACE_STARTING);
  const uint64_t* original = own_original();
  if (original == NULL) return was_entered ? entry : NULL;
  if (!was_entered && !starts_two) {
    /* Another thread took the entry first. This is rare, and only leaves a program with the caller's mask. */
    before = 0;
    if (!atomic_compare_exchange_strong(entry, &before, thread | MILLRACE_STARTING)) return NULL;
  }
  set_mask(original);
  return starts_two ? NULL : entry;
}

static void done_starting(void* argument) {
  MILLRACE_ATOMIC(uint32_t)* entry = argument;
  if (entry != NULL) atomic_fetch_and(entry, ~MILLRACE_STARTING);
}

/* Runs before an exec, in a vfork() child or in this process itself. */
static void begin_executing(void) {
  const int kept = errno;
  if (board != NULL && millrace_in_own_process())
    done_starting(begin_starting());
  else
    millrace_put_back();
  errno = kept;
}

int millrace_in_own_process(void) { return process == 0 || getpid() == process; }

void millrace_watch_processes(struct millrace_mask_board* shared) {
  board = shared;
  process = getpid();
  pthread_atfork(NULL, NULL, begin_as_process);
}

/* Also finds functions that another library's constructor calls before the board was looked up. */
__attribute__((constructor)) static void find_functions(void) {
  *(void**)&real_posix_spawn = millrace_next_function("posix_spawn");
  *(void**)&real_posix_spawnp = millrace_next_function("posix_spawnp");
  *(void**)&real_system = millrace_next_function("system");
  *(void**)&real_popen = millrace_next_function("popen");
  *(void**)&real_execvpe = millrace_next_function("execvpe");
  *(void**)&real_fexecve = millrace_next_function("fexecve");
}

EXPORTED int posix_spawn(pid_t* child, const char* path, const posix_spawn_file_actions_t* actions,
                         const posix_spawnattr_t* attributes, char* const arguments[],
                         char* const environment[]) {
  if (real_posix_spawn == NULL) find_functions();
  MILLRACE_ATOMIC(uint32_t)* entry = begin_starting();
  const int error = real_posix_spawn(child, path, actions, attributes, arguments, environment);
  done_starting(entry);
  return error;
}

EXPORTED int posix_spawnp(pid_t* child, const char* file, const posix_spawn_file_actions_t* actions,
                          const posix_spawnattr_t* attributes, char* const arguments[],
                          char* const environment[]) {
  if (real_posix_spawnp == NULL) find_functions();
  MILLRACE_ATOMIC(uint32_t)* entry = begin_starting();
  const int error = real_posix_spawnp(child, file, actions, attributes, arguments, environment);
  done_starting(entry);
  return error;
}

/* A thread can be cancelled in system(). */
EXPORTED int system(const char* command) {
  if (real_system == NULL) find_functions();
  int status = 0;
  pthread_cleanup_push(done_starting, begin_starting());
  status = real_system(command);
  pthread_cleanup_pop(1);
  return status;
}

EXPORTED FILE* popen(const char* command, const char* mode) {
  if (real_popen == NULL) find_functions();
  MILLRACE_ATOMIC(uint32_t)* entry = begin_starting();
  FILE* stream = real_popen(command, mode);
  const int kept = errno;
  done_starting(entry);
  errno = kept;
  return stream;
}

EXPORTED int execve(const char* path, char* const arguments[], char* const environment[]) {
  begin_executing();
  return (int)syscall(SYS_execve, path, arguments, environment);
}

EXPORTED int execv(const char* path, char* const arguments[]) { return execve(path, arguments, environ); }

EXPORTED int fexecve(int file, char* const arguments[], char* const environment[]) {
  if (real_fexecve == NULL) find_functions();
  begin_executing();
  return real_fexecve(file, arguments, environment);
}

EXPORTED int execvpe(const char* file, char* const arguments[], char* const environment[]) {
  if (real_execvpe == NULL) find_functions();
  begin_executing();
  return real_execvpe(file, arguments, environment);
}

EXPORTED int execvp(const char* file, char* const arguments[]) { return execvpe(file, arguments, environ); }

/* Collects the arguments from `first` up to the terminating null in an array of the calling function; `rest`
 * is left after that null. */
#define COLLECT(arguments, first, rest)                                                                      \
  va_list rest;                                                                                              \
  va_start(rest, first);                                                                                     \
  size_t count = 1;                                                                                          \
  for (const char* next = first; next != NULL; next = va_arg(rest, char*))                                   \
    ++count;                                                                                                 \
  va_end(rest);                                                                                              \
  char** arguments = alloca(count * sizeof(char*));                                                          \
  va_start(rest, first);                                                                                     \
  arguments[0] = (char*)first;                                                                               \
  for (size_t i = 1; i < count; ++i)                                                                         \
  arguments[i] = va_arg(rest, char*)

EXPORTED int execl(const char* path, const char* first, ...) {
  COLLECT(arguments, first, rest);
  va_end(rest);
  return execve(path, arguments, environ);
}

EXPORTED int execle(const char* path, const char* first, ...) {
  COLLECT(arguments, first, rest);
  char* const* environment = va_arg(rest, char* const*);
  va_end(rest);
  return execve(path, arguments, environment);
}

EXPORTED int execlp(const char* file, const char* first, ...) {
  COLLECT(arguments, first, rest);
  va_end(rest);
  return execvpe(file, arguments, environ);
}
