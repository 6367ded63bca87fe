/* late_exec MAKER PROGRAM [arguments]: executes PROGRAM once its parent process, MAKER, has ended. */
#include <stdlib.h>
#include <unistd.h>

int main(int count, char** arguments) {
  if (count < 3) return 2;
  while (getppid() == atoi(arguments[1]))
    usleep(1000);
  execv(arguments[2], arguments + 2);
  return 3;
}
