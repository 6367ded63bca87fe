/* tracing: traces its own child like a debugger; exits with 0 if that worked. */
#include <signal.h>
#include <stddef.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

int main(void) {
  const pid_t child = fork();
  if (child == 0) {
    if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0) _exit(9);
    raise(SIGSTOP);
    _exit(4);
  }
  int status = 0;
  if (waitpid(child, &status, 0) != child || !WIFSTOPPED(status)) return 1;
  ptrace(PTRACE_CONT, child, NULL, NULL);
  if (waitpid(child, &status, 0) != child || !WIFEXITED(status)) return 2;
  return WEXITSTATUS(status) == 4 ? 0 : 3;
}
