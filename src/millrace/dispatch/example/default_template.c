/* The default template of UDispatch+ (Code 1 of the paper), and a main() that forks the program to control:
 *
 *     default_template [-m] PROGRAM [arguments]
 *
 * Pins its main thread to the least loaded core if -m is given, and its slave threads one to a core as they
 * are born. */
#include "UDispatch.h"

#include <string.h>

static void UDPlus_main(int fd, pid_t ppid, pid_t cpid, unsigned char bm_flag) {
  /* pass the pids of UDispatch+ and of the application's main thread to UDispatch */
  set_UDPlus_pids(fd, ppid, cpid);
  /* pin the main thread */
  if (bm_flag) bind_to_cpu(fd, cpid, find_least_load_core());
  /* enable the switch for slave threads */
  enable_UDPlus_switch(fd);
  /* wait until the application finishes */
  wait_app_done(cpid);
  /* disable the switch */
  disable_UDPlus_switch(fd);
}

int main(int argc, char** argv) {
  const unsigned char bind_main = argc > 1 && strcmp(argv[1], "-m") == 0;
  char** command = argv + 1 + bind_main;
  if (command >= argv + argc) {
    fprintf(stderr, "usage: %s [-m] PROGRAM [arguments]\n", argv[0]);
    return 2;
  }
  const int fd = udispatch_open();
  if (fd < 0) {
    perror("udispatch_open");
    return 1;
  }
  const pid_t child = fork();
  if (child == 0) {
    execvp(command[0], command);
    perror(command[0]);
    _exit(127);
  }
  if (child < 0) {
    perror("fork");
    return 1;
  }
  UDPlus_main(fd, getpid(), child, bind_main);
  udispatch_close(fd);
  return 0;
}
