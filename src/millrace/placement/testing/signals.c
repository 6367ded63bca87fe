/* signals MODE: what a parent sees of a program's end and signals.
 *
 *   die N   ends by signal N
 *   catch   prints "ready", waits for SIGTERM, says so and exits with 5
 *   count   prints "ready", and "caught N" for each SIGUSR1; exits with the count on SIGTERM
 *   value   prints "ready", and the value of a real-time signal
 *   stop    prints "ready", stops itself, and exits with 6 when continued
 *   suspend group|self|stop  prints "ready", stops its process group, or itself as editors do; then exits with 6
 *   own_group stop|self  makes a process group, takes the terminal, prints "ready" and stops; then exits with 6, or with
 *       7 if it has lost the terminal
 *   size N  prints "ready"; exits with 0 if its standard error has N columns after SIGWINCH, else with 3
 *   nested  ends its main thread while another thread goes on to exit with 8 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

static volatile sig_atomic_t caught;

static void note(int signal) {
  (void)signal;
  ++caught;
}

static volatile sig_atomic_t ended;

static void end(int signal) { ended = signal; }

static void* outlive(void* argument) {
  usleep(300000);
  exit(8);
  return argument;
}

int main(int count, char** arguments) {
  const char* mode = count > 1 ? arguments[1] : "";
  struct sigaction action;
  memset(&action, 0, sizeof(action));
  action.sa_handler = note;
  if (strcmp(mode, "die") == 0) {
    raise(atoi(arguments[2]));
    return 1;
  }
  if (strcmp(mode, "catch") == 0) {
    sigaction(SIGTERM, &action, NULL);
    puts("ready");
    fflush(stdout);
    while (caught == 0)
      usleep(1000);
    puts("caught");
    return 5;
  }
  if (strcmp(mode, "count") == 0) {
    sigaction(SIGUSR1, &action, NULL);
    signal(SIGTERM, end);
    puts("ready");
    fflush(stdout);
    int told = 0;
    do {
      usleep(1000);
      if (caught == told) continue;
      told = caught;
      printf("caught %d\n", told);
      fflush(stdout);
    } while (!ended);
    return caught;
  }
  if (strcmp(mode, "value") == 0) {
    sigset_t one;
    siginfo_t info;
    sigemptyset(&one);
    sigaddset(&one, SIGRTMIN + 1);
    sigprocmask(SIG_BLOCK, &one, NULL);
    puts("ready");
    fflush(stdout);
    if (sigwaitinfo(&one, &info) < 0) return 3;
    printf("%lx\n", (unsigned long)info.si_value.sival_ptr);
    return 0;
  }
  if (strcmp(mode, "stop") == 0) {
    puts("ready");
    fflush(stdout);
    raise(SIGSTOP);
    return 6;
  }
  if (strcmp(mode, "suspend") == 0) {
    puts("ready");
    fflush(stdout);
    usleep(50000);
    if (strcmp(arguments[2], "stop") == 0) raise(SIGSTOP);
    if (strcmp(arguments[2], "self") == 0) kill(getpid(), SIGTSTP);
    if (strcmp(arguments[2], "group") == 0) kill(0, SIGTSTP);
    return 6;
  }
  if (strcmp(mode, "own_group") == 0) {
    signal(SIGTTOU, SIG_IGN);
    if (setpgid(0, 0) != 0 || tcsetpgrp(0, getpgrp()) != 0) return 3;
    puts("ready");
    fflush(stdout);
    kill(0, strcmp(arguments[2], "stop") == 0 ? SIGSTOP : SIGTSTP);
    /* The shell gives the terminal before it continues its job, and what it continues may be a moment behind. */
    for (int i = 0; i < 10000 && tcgetpgrp(0) != getpgrp(); ++i)
      usleep(1000);
    return tcgetpgrp(0) == getpgrp() ? 6 : 7;
  }
  if (strcmp(mode, "size") == 0) {
    sigaction(SIGWINCH, &action, NULL);
    puts("ready");
    fflush(stdout);
    int seen = 0;
    for (int i = 0; i < 30000; ++i) {
      struct winsize size;
      usleep(1000);
      if (seen == caught) continue;
      seen = caught;
      if (ioctl(2, TIOCGWINSZ, &size) == 0 && size.ws_col == atoi(arguments[2])) return 0;
    }
    return 3;
  }
  if (strcmp(mode, "nested") == 0) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, outlive, NULL) != 0) return 3;
    pthread_exit(NULL);
  }
  return 2;
}
