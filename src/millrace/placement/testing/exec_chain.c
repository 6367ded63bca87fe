/* exec_chain LENGTH: executes itself LENGTH times, alternately from main and from another thread, and
 * prints its mask at the end. */
#define _GNU_SOURCE
#include "masks.h"

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

static char* own_path;
static char next[16];

static void again(void) {
  execl(own_path, own_path, next, (char*)NULL);
  _exit(3);
}

static void* body(void* argument) {
  again();
  return argument;
}

int main(int count, char** arguments) {
  const int length = count > 1 ? atoi(arguments[1]) : 5;
  own_path = arguments[0];
  if (length == 0) {
    char text[256];
    own_mask(text, sizeof(text));
    printf("%s\n", text);
    return 7;
  }
  snprintf(next, sizeof(next), "%d", length - 1);
  if (length % 2 == 0) again();
  pthread_t thread;
  if (pthread_create(&thread, NULL, body, NULL) != 0) return 3;
  pthread_join(thread, NULL);
  return 4;
}
