/* Tests of the library's queries to the daemon, and of its handling of odd replies. */
#define _GNU_SOURCE
#include "millrace/dispatch/cpu_load.h"
#include "millrace/dispatch/daemon_reply.h"
#include "millrace/dispatch/dispatch_testing.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

/* The promise for CPU 1 exceeds what CPU 2 was busy; that for CPU 3 is less than it was busy. */
static void test_what_is_promised_counts_as_load(void) {
  const long long before[] = {0, 10, 10, 10};
  const long long after[] = {0, 10, 15, 13};
  const double promised[] = {0, 6, 0, 1};
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  CPU_SET(1, &allowed);
  CPU_SET(2, &allowed);
  EXPECT(millrace_least_busy(&allowed, before, after, NULL, 4, -1) == 1);
  EXPECT(millrace_least_busy(&allowed, before, after, promised, 4, -1) == 2);
  CPU_SET(3, &allowed);
  EXPECT(millrace_least_busy(&allowed, before, after, promised, 4, -1) == 3);
}

static const char reply[] = "{\"parameters\": {\"daemon\": {\"pid\": 3, \"lacks\": [\"a \\\"quoted\\\" "
                            "}word\"]}, \"groups\": [\"0\", \"1\"], "
                            "\"programs\": [{\"name\": \"a\", \"busy\": 0.5, \"thread_list\": ["
                            "{\"thread\": 71, \"process\": 70, \"busy\": 0.25, \"cpu\": 2, \"kept_on\": "
                            "\"0-1,64\", \"demand\": null},"
                            "{\"thread\": 72, \"process\": 70, \"busy\": 0.9, \"cpu\": 1, \"kept_on\": null},"
                            "{\"thread\": 73, \"process\": 70, \"busy\": null, \"cpu\": null, \"kept_on\": "
                            "\"2\"}]}, {\"thread_list\": []}],"
                            "\"rules\": []}}";

static void test_what_the_daemon_says_is_read(void) {
  millrace_dispatch_placed placed[4];
  EXPECT(millrace_placed_of_reply(reply, placed, 4) == 2);
  EXPECT(placed[0].process == 70 && placed[0].thread == 71 && placed[0].cpu == 2 && placed[0].busy == 0.25);
  EXPECT(placed[0].kept_on[0] == 3 && placed[0].kept_on[1] == 1 && placed[0].kept_on[2] == 0);
  EXPECT(placed[1].thread == 73 && placed[1].cpu == -1 && placed[1].busy == -1 && placed[1].kept_on[0] == 4);
  double promised[3];
  millrace_promised(placed, 2, 0, promised, 3);
  EXPECT(promised[0] > 0.083 && promised[0] < 0.084 && promised[1] == promised[0] && promised[2] == 1);
  millrace_promised(placed, 2, 73, promised, 3); /* the asking thread's own share does not count */
  EXPECT(promised[2] == 0);
  EXPECT(millrace_placed_of_reply(reply, placed, 1) == 1);
}

/* Malformed replies. Sanitizers check the reads. */
static void test_what_is_no_reply_says_nothing_wrong(void) {
  millrace_dispatch_placed placed[4];
  char text[sizeof reply];
  for (size_t size = 0; size < sizeof reply; ++size) {
    memcpy(text, reply, size);
    text[size] = '\0';
    const int count = millrace_placed_of_reply(text, placed, 4);
    EXPECT(count >= 0 && count <= 2);
  }
  for (size_t at = 0; at + 1 < sizeof reply; ++at)
    for (const char* other = "\"{}[]:,\\9-e\xff"; *other != '\0'; ++other) {
      memcpy(text, reply, sizeof reply);
      text[at] = *other;
      const int count = millrace_placed_of_reply(text, placed, 4);
      EXPECT(count >= 0 && count <= 3);
      for (int i = 0; i < count; ++i)
        EXPECT(placed[i].thread > 0 && placed[i].process > 0 && placed[i].busy <= 1);
    }
  char deep[4096];
  memset(deep, '[', sizeof deep - 1);
  deep[sizeof deep - 1] = '\0';
  EXPECT(millrace_placed_of_reply(deep, placed, 4) == 0);
  char list[8192] =
      "{\"parameters\": {\"programs\": [{\"thread_list\": [{\"thread\": 1, \"process\": 1, \"kept_on\": \"0";
  while (strlen(list) < 6000)
    strcat(list, ",0-1023");
  strcat(list, "\"}]}]}}");
  EXPECT(millrace_placed_of_reply(list, placed, 4) == 0); /* longer than any list of CPUs */
  const char* const odd[] = {
      "",
      "{}",
      "null",
      "{\"error\": \"org.millrace.daemon1.TooMany\", \"parameters\": {\"message\": \"x\"}}",
      "{\"parameters\": {\"programs\": [{\"thread_list\": [{\"thread\": 1e99, \"process\": 1, \"kept_on\": "
      "\"0\"}]}]}}",
      "{\"parameters\": {\"programs\": [{\"thread_list\": [{\"thread\": 1, \"process\": 1, \"kept_on\": "
      "\"99999999999999999999-,5-2,-\"}]}]}}"};
  for (size_t i = 0; i < sizeof odd / sizeof *odd; ++i)
    EXPECT(millrace_placed_of_reply(odd[i], placed, 4) == 0);
}

/* Listens in place of the daemon. */
typedef struct {
  char folder[64];
  char path[96];
  int listener;
  const char* answer; /* NULL: does not answer, and does not hang up */
  int endless;
  pthread_t thread;
} impostor;

static void* answer_all(void* argument) {
  impostor* one = argument;
  for (;;) {
    const int client = accept(one->listener, NULL, NULL);
    if (client < 0) return NULL;
    char request[256];
    if (one->answer != NULL && recv(client, request, sizeof request, 0) > 0) do {
        if (send(client, one->answer, strlen(one->answer), MSG_NOSIGNAL) < 0) break;
      } while (one->endless);
    close(client);
  }
}

/* listens = 0: the folder exists, the socket does not. */
static void begin_impostor(impostor* one, int listens) {
  strcpy(one->folder, "/tmp/millrace-dispatch-XXXXXX");
  EXPECT(mkdtemp(one->folder) != NULL);
  setenv("XDG_RUNTIME_DIR", one->folder, 1);
  snprintf(one->path, sizeof one->path, "%s/millrace", one->folder);
  EXPECT(mkdir(one->path, 0700) == 0);
  strcat(one->path, "/daemon.sock");
  if (!listens) return;
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  strcpy(address.sun_path, one->path);
  one->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  EXPECT(bind(one->listener, (struct sockaddr*)&address, sizeof address) == 0);
  EXPECT(listen(one->listener, 8) == 0);
  if (one->answer != NULL) EXPECT(pthread_create(&one->thread, NULL, answer_all, one) == 0);
}

static void end_impostor(impostor* one, int listens) {
  if (listens) {
    shutdown(one->listener, SHUT_RDWR);
    if (one->answer != NULL) pthread_join(one->thread, NULL);
    close(one->listener);
    unlink(one->path);
  }
  *strrchr(one->path, '/') = '\0';
  rmdir(one->path);
  rmdir(one->folder);
  unsetenv("XDG_RUNTIME_DIR");
}

static void test_threads_that_the_daemon_keeps_on_a_cpu_are_load_also_while_they_rest(void) {
  const cpu_set_t allowed = allowed_here();
  const int here = lowest(&allowed);
  /* More load than any CPU can have had. */
  char text[8192] = "{\"parameters\": {\"programs\": [{\"thread_list\": [";
  for (int i = 0; i < 50; ++i)
    snprintf(text + strlen(text), sizeof text - strlen(text),
             "%s{\"thread\": %d, \"process\": 1, \"busy\": 1.0, \"kept_on\": \"%d\"}", i == 0 ? "" : ",",
             100 + i, here);
  strcat(text, "]}]}}\n");
  impostor daemon = {.answer = text};
  begin_impostor(&daemon, 1);
  millrace_dispatch_placed placed[64];
  EXPECT(millrace_dispatch_get_placement(placed, 64, 60000) == 50);
  EXPECT(placed[49].thread == 149);
  for (int i = 0; i < 3; ++i)
    EXPECT(CPU_COUNT(&allowed) == 1 || millrace_least_load_core(60000) != here);
  EXPECT(millrace_dispatch_get_placement(placed, 0, 60000) == 0);
  EXPECT(millrace_dispatch_get_placement(NULL, 4, 60000) == 0);
  EXPECT(millrace_dispatch_get_placement(placed, 4, 0) == 0);
  end_impostor(&daemon, 1);
}

static void test_without_an_answer_the_load_is_what_it_was(void) {
  const cpu_set_t allowed = allowed_here();
  millrace_dispatch_placed placed[4];
  /* No daemon; one that stays silent; one that hangs up; half a reply; nonsense; a reply that is too long. */
  const impostor kinds[] = {{.answer = NULL},
                            {.answer = NULL},
                            {.answer = ""},
                            {.answer = "{\"parameters\": {"},
                            {.answer = "\x01\xff{{{]]\n"},
                            {.answer = "{\"parameters\": {\"programs\": [", .endless = 1}};
  for (int i = 0; i < 6; ++i) {
    impostor one = kinds[i];
    const int listens = i > 0;
    begin_impostor(&one, listens);
    if (listens) EXPECT(millrace_dispatch_get_placement(placed, 4, 5) == 0);
    const int found = millrace_dispatch_find_least_load_core();
    EXPECT(found >= 0 && CPU_ISSET(found, &allowed));
    end_impostor(&one, listens);
  }
}

int main(void) {
  test_what_is_promised_counts_as_load();
  test_what_the_daemon_says_is_read();
  test_what_is_no_reply_says_nothing_wrong();
  test_threads_that_the_daemon_keeps_on_a_cpu_are_load_also_while_they_rest();
  test_without_an_answer_the_load_is_what_it_was();
  if (failures == 0) printf("dispatch, the daemon's answers: all well\n");
  return failures == 0 ? 0 : 1;
}
