#define _GNU_SOURCE
#include "millrace/dispatch/daemon_socket.h"

#include "millrace/base/file/private_folder_walk.h"
#include "millrace/dispatch/daemon_reply.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <sys/socket.h>
#include <sys/un.h>

enum { first_bytes = 1 << 14, most_bytes = 1 << 23 };

long long millrace_now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return 1000000000LL * now.tv_sec + now.tv_nsec;
}

/* Returns a non-blocking socket; -1 if nothing listens there or the listener belongs to another user. */
static int connect_to(const char* path) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  if (strlen(path) >= sizeof address.sun_path) return -1;
  strcpy(address.sun_path, path);
  const int descriptor = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (descriptor < 0) return -1;
  struct ucred peer;
  socklen_t size = sizeof peer;
  if (connect(descriptor, (const struct sockaddr*)&address, sizeof address) == 0 &&
      getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
      (peer.uid == 0 || peer.uid == geteuid()))
    return descriptor;
  close(descriptor);
  return -1;
}

/* Connects only if no other user can have created the socket. Otherwise a link made by another user could
 * lead a program of root to a service that speaks another protocol. */
static int connect_in(const char* folder) {
  struct millrace_folder_refusal refusal;
  char path[sizeof((struct sockaddr_un*)NULL)->sun_path];
  const int opened = millrace_walk_to_folder(folder, 0, millrace_folder_keep, &refusal);
  if (opened < 0) return -1;
  close(opened);
  if ((size_t)snprintf(path, sizeof path, "%s/daemon.sock", folder) >= sizeof path) return -1;
  return connect_to(path);
}

/* The daemons' sockets, as docs/daemon.md gives them: the user's first, then the system's. */
static int connect_to_daemon(void) {
  char folder[sizeof((struct sockaddr_un*)NULL)->sun_path];
  const char* runtime = getenv("XDG_RUNTIME_DIR");
  int connected = -1;
  if (runtime != NULL && runtime[0] == '/' &&
      (size_t)snprintf(folder, sizeof folder, "%s/millrace", runtime) < sizeof folder)
    connected = connect_in(folder);
  if (connected < 0 && geteuid() == 0) connected = connect_in("/run/millrace");
  if (connected < 0) {
    snprintf(folder, sizeof folder, "/tmp/millrace-%u", (unsigned)geteuid());
    connected = connect_in(folder);
  }
  return connected < 0 ? connect_to("/run/millrace-daemon.sock") : connected;
}

/* Returns 0 if the time is up. */
static int is_ready(int descriptor, short what, long long until_ns) {
  for (;;) {
    const long long left = until_ns - millrace_now_ns();
    if (left <= 0) return 0;
    const struct timespec patience = {left / 1000000000, left % 1000000000};
    struct pollfd waited = {descriptor, what, 0};
    const int ready = ppoll(&waited, 1, &patience, NULL);
    if (ready >= 0 || errno != EINTR) return ready > 0;
  }
}

static int send_line(int descriptor, const char* line, long long until_ns) {
  size_t left = strlen(line);
  while (left > 0) {
    const ssize_t sent = send(descriptor, line, left, MSG_NOSIGNAL);
    if (sent >= 0) {
      line += sent;
      left -= (size_t)sent;
    } else if (errno == EAGAIN) {
      if (!is_ready(descriptor, POLLOUT, until_ns)) return 0;
    } else if (errno != EINTR) {
      return 0;
    }
  }
  return 1;
}

static char* receive_line(int descriptor, long long until_ns) {
  size_t room = first_bytes;
  size_t size = 0;
  char* text = malloc(room);
  while (text != NULL && is_ready(descriptor, POLLIN, until_ns)) {
    if (size + 1 == room) {
      char* more = room < most_bytes ? realloc(text, 2 * room) : NULL;
      if (more == NULL) break;
      text = more;
      room *= 2;
    }
    const ssize_t got = recv(descriptor, text + size, room - 1 - size, 0);
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (got <= 0) break;
    char* const end = memchr(text + size, '\n', (size_t)got);
    size += (size_t)got;
    if (end == NULL) continue;
    *end = '\0';
    return text;
  }
  free(text);
  return NULL;
}

char* millrace_ask_daemon(const char* line, long long until_ns) {
  const int descriptor = connect_to_daemon();
  if (descriptor < 0) return NULL;
  char* answer = send_line(descriptor, line, until_ns) ? receive_line(descriptor, until_ns) : NULL;
  close(descriptor);
  return answer;
}

int millrace_dispatch_get_placement(millrace_dispatch_placed* placed, int most, int patience_ms) {
  if (placed == NULL || most <= 0 || patience_ms <= 0) return 0;
  char* answer =
      millrace_ask_daemon("{\"method\":\"org.millrace.daemon1.Status\",\"parameters\":{\"threads\":true}}\n",
                          millrace_now_ns() + 1000000LL * patience_ms);
  const int count = answer == NULL ? 0 : millrace_placed_of_reply(answer, placed, most);
  free(answer);
  return count;
}
