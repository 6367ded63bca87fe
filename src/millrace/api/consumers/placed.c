/* Pins itself to the least loaded core. */
#include <millrace_dispatch.h>
#include <stdio.h>

int main(void) {
  millrace_dispatch* dispatch = millrace_dispatch_new();
  if (dispatch == NULL) return perror("placed"), 1;
  const int core = millrace_dispatch_find_least_load_core();
  if (core < 0 || millrace_dispatch_bind_to_cpu(dispatch, 0, core) != 0) return perror("placed"), 1;
  millrace_dispatch_free(dispatch);
  puts("bound");
  return 0;
}
