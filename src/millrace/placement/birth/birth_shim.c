/* Preloaded into a dynamic program, it lets every new thread take its mask, as millrace has laid it ready,
 * before the thread's own function begins. Without a board it does nothing.
 *
 * Threads that glibc makes for itself, and those made by clone() alone, do not come by here; millrace finds
 * them by polling. */
#define _GNU_SOURCE
#include "birth_board.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sys/mman.h>
#include <sys/syscall.h>

typedef int (*create_function)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);

struct birth {
  void* (*function)(void*);
  void* argument;
};

static struct millrace_birth_board* board;
static create_function real_create;

/* What the program executes itself finds the environment that it would have found. */
static void clean_environment(void) {
  const char* all = getenv("LD_PRELOAD");
  const char* others = all == NULL ? NULL : strchr(all, ':');
  if (others != NULL) {
    char* kept = strdup(others + 1);
    if (kept != NULL) setenv("LD_PRELOAD", kept, 1);
    free(kept);
  } else {
    unsetenv("LD_PRELOAD");
  }
  unsetenv(MILLRACE_BOARD_VARIABLE);
}

__attribute__((constructor)) static void find_board(void) {
  /* The next definition; a library that was loaded for itself alone (RTLD_LOCAL) has none, but libc is there.
   */
  void* found = dlsym(RTLD_NEXT, "pthread_create");
  if (found == NULL) {
    void* libc = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
    if (libc != NULL) found = dlsym(libc, "pthread_create");
  }
  *(void**)&real_create = found;

  const int kept = errno;
  const char* path = getenv(MILLRACE_BOARD_VARIABLE);
  const int file = path == NULL ? -1 : open(path, O_RDWR | O_CLOEXEC);
  if (file >= 0) {
    void* start = mmap(NULL, sizeof(*board), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (start != MAP_FAILED) {
      board = start;
      if (board->version != millrace_board_version || board->size != sizeof(*board)) board = NULL;
    }
  }
  if (path != NULL) clean_environment();
  errno = kept;
}

static void take_place(void) {
  const uint32_t number = atomic_fetch_add_explicit(&board->births, 1, memory_order_relaxed);
  if (number >= millrace_board_slots) return;
  struct millrace_birth_slot* slot = &board->slots[number];
  if (slot->has_mask) syscall(SYS_sched_setaffinity, 0, sizeof(slot->mask), slot->mask);
  slot->process = (uint32_t)getpid();
  atomic_store_explicit(&slot->thread, (uint32_t)syscall(SYS_gettid), memory_order_release);
}

static void* begin_thread(void* argument) {
  const struct birth birth = *(struct birth*)argument;
  free(argument);
  const int kept = errno;
  take_place();
  errno = kept;
  return birth.function(birth.argument);
}

__attribute__((visibility("default"))) int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                                                          void* (*function)(void*), void* argument) {
  if (real_create == NULL) find_board(); /* called by another library's constructor */
  if (real_create == NULL) return EAGAIN;
  struct birth* birth = board == NULL ? NULL : malloc(sizeof(*birth));
  if (birth == NULL) return real_create(thread, attributes, function, argument);
  birth->function = function;
  birth->argument = argument;
  const int error = real_create(thread, attributes, begin_thread, birth);
  if (error != 0) free(birth);
  return error;
}
