/* processes DEPTH: makes two processes that do the same with DEPTH - 1, and a thread. Exits with the
 * number of failed descendants. */
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static void* body(void* argument) { return argument; }

static int run(int depth) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, body, NULL) != 0) return 1;
  pthread_join(thread, NULL);
  if (depth == 0) return 0;
  int failed = 0;
  for (int i = 0; i < 2; ++i) {
    const pid_t child = fork();
    if (child < 0) return 1;
    if (child == 0) _exit(run(depth - 1));
  }
  for (int i = 0; i < 2; ++i) {
    int status = 0;
    if (wait(&status) < 0 || status != 0) ++failed;
  }
  return failed;
}

int main(int count, char** arguments) { return run(count > 1 ? atoi(arguments[1]) : 3); }
