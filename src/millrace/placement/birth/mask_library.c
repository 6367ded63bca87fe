/* The mask library is preloaded into a dynamically linked program. Programs derive the number of CPUs from
 * main's mask. So if main asks for its mask and millrace gave it, the library reports the mask from before.
 * Processes also begin with that mask (process_masks.c). The library records which masks the program chose
 * itself. Without a board it does nothing. */
#define _GNU_SOURCE
#include "process_masks.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>

typedef int (*create_function)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
typedef int (*attributes_function)(const pthread_attr_t*, size_t, cpu_set_t*);
typedef int (*get_mask_function)(pthread_t, size_t, cpu_set_t*);
typedef int (*set_mask_function)(pthread_t, size_t, const cpu_set_t*);

static struct millrace_mask_board* board;
/* Looked up once: a lookup waits for any thread that is loading a library, and that thread may be waiting for
 * the caller. */
static create_function real_create;
static attributes_function mask_in;
static get_mask_function real_get_mask;
static set_mask_function real_set_mask;
static pthread_t main_handle; /* after fork(): of the thread that called it */
/* All relaxed: each is set and read by one thread or publishes nothing. */
static atomic_int main_chose;    /* the program has given its main thread a mask */
static atomic_int others_chosen; /* one of its threads has given another, other than main, a mask */
static atomic_int chooser;       /* a vfork() child, which shares this memory and has chosen a mask */
/* The calling thread gave itself a mask. */
static __thread int own_choice __attribute__((tls_model("initial-exec")));

/* Returns NULL if `entry` is not the variable `name`. */
static char* value_in(char* entry, const char* name) {
  const size_t length = strlen(name);
  return strncmp(entry, name, length) == 0 && entry[length] == '=' ? entry + length + 1 : NULL;
}

/* Not getenv(), which some programs (bash) replace by their own. They are not ready yet at this time. */
static char* variable(const char* name) {
  for (char** entry = environ; entry != NULL && *entry != NULL; ++entry)
    if (value_in(*entry, name) != NULL) return value_in(*entry, name);
  return NULL;
}

/* In place, not by unsetenv(), for the same reason. */
static void remove_variable(const char* name) {
  char** kept = environ;
  for (char** entry = environ; entry != NULL && *entry != NULL; ++entry)
    if (value_in(*entry, name) == NULL) *kept++ = *entry;
  if (kept != NULL) *kept = NULL;
}

/* Programs that this one executes get the environment that they would have had without millrace. */
static void clean_environment(void) {
  static const char preloads[] = "LD_PRELOAD";
  char* all = variable(preloads);
  char* others = all == NULL ? NULL : strchr(all, ':');
  if (others != NULL)
    memmove(all, others + 1, strlen(others + 1) + 1);
  else
    remove_variable(preloads);
  remove_variable(MILLRACE_BOARD_VARIABLE);
}

/* A library loaded with RTLD_LOCAL has no next one, but libc is loaded. */
void* millrace_next_function(const char* name) {
  void* found = dlsym(RTLD_NEXT, name);
  if (found != NULL) return found;
  void* libc = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
  return libc == NULL ? NULL : dlsym(libc, name);
}

static void find_functions(void) {
  *(void**)&real_create = millrace_next_function("pthread_create");
  *(void**)&mask_in = millrace_next_function("pthread_attr_getaffinity_np");
  *(void**)&real_get_mask = millrace_next_function("pthread_getaffinity_np");
  *(void**)&real_set_mask = millrace_next_function("pthread_setaffinity_np");
}

/* Returns NULL if there is no board, or millrace has ended. */
static struct millrace_mask_board* open_board(const char* descriptors) {
  char* next = NULL;
  const int file = (int)strtol(descriptors, &next, 10);
  const int library = *next == ',' ? (int)strtol(next + 1, NULL, 10) : -1;
  struct stat status;
  if (fstat(file, &status) != 0 || status.st_size != (off_t)sizeof(*board)) return NULL;
  void* start = mmap(NULL, sizeof(*board), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (start == MAP_FAILED) return NULL;
  struct millrace_mask_board* found = start;
  const int is_ours = found->version == millrace_board_version && found->size == sizeof(*board);
  if (is_ours) {
    close(file);
    close(library);
  }
  if (is_ours && (uint32_t)getppid() == found->owner) return found;
  munmap(start, sizeof(*board));
  return NULL;
}

__attribute__((constructor)) static void find_board(void) {
  find_functions();
  const int kept = errno;
  if (syscall(SYS_gettid) == getpid()) main_handle = pthread_self();
  const char* descriptors = variable(MILLRACE_BOARD_VARIABLE);
  if (descriptors != NULL) {
    board = open_board(descriptors);
    clean_environment();
  }
  if (board != NULL) millrace_watch_processes(board);
  errno = kept;
}

static int is_main(pid_t thread) {
  return thread == 0 ? syscall(SYS_gettid) == getpid() : thread == getpid();
}

static int has_chosen_elsewhere(void) {
  return !millrace_in_own_process() && atomic_load_explicit(&chooser, memory_order_relaxed) == getpid();
}

static int has_main_chosen(void) {
  return atomic_load_explicit(&main_chose, memory_order_relaxed) || has_chosen_elsewhere();
}

/* If a thread gives another a mask, or makes one that inherits its chosen mask, it is only known that some
 * thread has such a mask. So all of them keep what they have. */
int millrace_has_chosen(void) {
  atomic_int* kind = pthread_equal(pthread_self(), main_handle) ? &main_chose : &others_chosen;
  return own_choice || has_chosen_elsewhere() || atomic_load_explicit(kind, memory_order_relaxed);
}

void millrace_become_main(void) {
  atomic_store_explicit(&main_chose, millrace_has_chosen(), memory_order_relaxed);
  main_handle = pthread_self();
}

/* Records the choice, so that processes that begin with this mask are known to have it from the program. */
static void note_chosen(const uint64_t* mask) {
  enum { bits = 32 };
  const uint32_t bit = millrace_chosen_bit(mask);
  MILLRACE_ATOMIC(uint32_t)* word = &board->chosen[bit / bits];
  const uint32_t flag = UINT32_C(1) << bit % bits;
  /* Most are recorded already; avoid writing to shared memory. */
  if ((atomic_load_explicit(word, memory_order_relaxed) & flag) == 0)
    atomic_fetch_or_explicit(word, flag, memory_order_relaxed);
}

static void note_chosen_of(pid_t thread) {
  uint64_t mask[millrace_board_words] = {0};
  if (board != NULL && syscall(SYS_sched_getaffinity, thread, sizeof(mask), mask) >= 0) note_chosen(mask);
}

/* The program has given one of its threads a mask. */
static void note_choice(int for_itself, int for_main) {
  if (!millrace_in_own_process()) {
    if (for_itself || for_main) atomic_store_explicit(&chooser, getpid(), memory_order_relaxed);
    return;
  }
  if (for_itself) own_choice = 1;
  if (for_main) atomic_store_explicit(&main_chose, 1, memory_order_relaxed);
  if (!for_itself && !for_main) atomic_store_explicit(&others_chosen, 1, memory_order_relaxed);
}

/* Replaces a mask that millrace gave by the mask from before. */
static void answer(size_t size, cpu_set_t* mask) {
  if (board == NULL || has_main_chosen()) return;
  uint64_t whole[millrace_board_words] = {0};
  memcpy(whole, mask, size < sizeof(whole) ? size : sizeof(whole));
  const uint64_t* original = millrace_original_of(whole);
  if (original != NULL) memcpy(mask, original, size < sizeof(whole) ? size : sizeof(whole));
}

/* For attributes without a mask, the C library reports all CPUs, including those that cannot exist. */
static int has_mask(const pthread_attr_t* attributes, uint64_t* mask) {
  const size_t size = sizeof(uint64_t) * millrace_board_words;
  return attributes != NULL && mask_in != NULL && mask_in(attributes, size, (cpu_set_t*)mask) == 0 &&
         CPU_COUNT_S(size, (cpu_set_t*)mask) != CPU_SETSIZE;
}

__attribute__((visibility("default"))) int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                                                          void* (*function)(void*), void* argument) {
  if (real_create == NULL) find_board(); /* called by another library's constructor */
  if (real_create == NULL) return EAGAIN;
  uint64_t chosen[millrace_board_words] = {0};
  const int is_chosen = board != NULL && has_mask(attributes, chosen);
  if (is_chosen) note_chosen(chosen);
  if (is_chosen || own_choice || (has_main_chosen() && is_main(0))) note_choice(0, 0);
  return real_create(thread, attributes, function, argument);
}

__attribute__((visibility("default"))) int sched_getaffinity(pid_t thread, size_t size, cpu_set_t* mask) {
  const long got = syscall(SYS_sched_getaffinity, thread, size, mask);
  if (got < 0) return -1;
  if ((size_t)got < size) memset((char*)mask + got, 0, size - (size_t)got);
  if (is_main(thread)) answer(size, mask);
  return 0;
}

__attribute__((visibility("default"))) int sched_setaffinity(pid_t thread, size_t size,
                                                             const cpu_set_t* mask) {
  const int for_itself = thread == 0 || thread == syscall(SYS_gettid);
  if (syscall(SYS_sched_setaffinity, thread, size, mask) != 0) return -1;
  const int kept = errno;
  if (for_itself || syscall(SYS_tgkill, getpid(), thread, 0) == 0) note_choice(for_itself, is_main(thread));
  note_chosen_of(thread);
  errno = kept;
  return 0;
}

static int is_main_handle(pthread_t thread) {
  return pthread_equal(thread, pthread_self()) ? is_main(0) : pthread_equal(thread, main_handle);
}

__attribute__((visibility("default"))) int pthread_getaffinity_np(pthread_t thread, size_t size,
                                                                  cpu_set_t* mask) {
  if (real_get_mask == NULL) find_functions();
  const int error = real_get_mask == NULL ? ENOSYS : real_get_mask(thread, size, mask);
  if (error == 0 && is_main_handle(thread)) answer(size, mask);
  return error;
}

__attribute__((visibility("default"))) int pthread_setaffinity_np(pthread_t thread, size_t size,
                                                                  const cpu_set_t* mask) {
  if (real_set_mask == NULL) find_functions();
  const int for_itself = pthread_equal(thread, pthread_self());
  const int error = real_set_mask == NULL ? ENOSYS : real_set_mask(thread, size, mask);
  if (error != 0) return error;
  note_choice(for_itself, is_main_handle(thread));
  uint64_t has[millrace_board_words] = {0};
  if (board != NULL && real_get_mask != NULL && real_get_mask(thread, sizeof(has), (cpu_set_t*)has) == 0)
    note_chosen(has);
  return 0;
}
