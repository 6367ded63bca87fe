/* daemon FILE [MS]: waits, then becomes a daemon by forking twice. The daemon writes its process number to
 * FILE and sleeps. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int count, char** arguments) {
  usleep(1000 * (count > 2 ? atoi(arguments[2]) : 0));
  if (fork() != 0) return 0;
  setsid();
  if (fork() != 0) return 0;
  FILE* file = fopen(arguments[1], "w");
  fprintf(file, "%d\n", getpid());
  fclose(file);
  for (int descriptor = 0; descriptor < 3; ++descriptor)
    close(descriptor);
  sleep(20);
  return 0;
}
