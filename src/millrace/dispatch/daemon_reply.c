#include "millrace/dispatch/daemon_reply.h"

#include <string.h>

enum { deepest = 64, bits = 64, most_cpus = 1024, longest_list = 5 * most_cpus };

/* A text that is read from left to right. A read_ function returns 0 on malformed input, and the rest is not
 * read. Numbers are parsed here because strtod() depends on the program's locale. */
typedef struct {
  const char* at;
  int depth;
} reader;

typedef struct {
  const char* text;
  size_t size;
} word;

static char next(reader* r) {
  while (*r->at == ' ' || *r->at == '\t' || *r->at == '\n' || *r->at == '\r')
    ++r->at;
  return *r->at;
}

static int take(reader* r, char wanted) {
  if (next(r) != wanted) return 0;
  ++r->at;
  return 1;
}

/* Reads a string as it is written; escapes are kept. */
static int read_string(reader* r, word* found) {
  if (!take(r, '"')) return 0;
  found->text = r->at;
  for (; *r->at != '"'; ++r->at) {
    if (*r->at == '\\') ++r->at;
    if (*r->at == '\0') return 0;
  }
  found->size = (size_t)(r->at++ - found->text);
  return 1;
}

static int is(word name, const char* text) {
  return name.size == strlen(text) && memcmp(name.text, text, name.size) == 0;
}

/* Reads the value of one member of an object, or of one element of an array (its name is empty). */
typedef int (*visitor)(reader* r, word name, void* context);

static int visit(reader* r, char begin, char end, visitor each, void* context) {
  if (!take(r, begin) || ++r->depth > deepest) return 0;
  if (next(r) != end) {
    do {
      word name = {"", 0};
      if (begin == '{' && (!read_string(r, &name) || !take(r, ':'))) return 0;
      if (!each(r, name, context)) return 0;
    } while (take(r, ','));
  }
  --r->depth;
  return take(r, end);
}

static int skip(reader* r, word name, void* context) {
  (void)name;
  (void)context;
  word passed;
  switch (next(r)) {
  case '{':
    return visit(r, '{', '}', skip, NULL);
  case '[':
    return visit(r, '[', ']', skip, NULL);
  case '"':
    return read_string(r, &passed);
  default:
    passed.size = strspn(r->at, "+-.0123456789Eaeflnrstu");
    r->at += passed.size;
    return passed.size > 0;
  }
}
static int skip_value(reader* r) { return skip(r, (word){"", 0}, NULL); }

/* Negative numbers and values that are not numbers, such as null, read as -1. */
static int read_number(reader* r, double* found) {
  next(r);
  const char* at = r->at;
  double value = *at >= '0' && *at <= '9' ? 0 : -1;
  for (; *at >= '0' && *at <= '9'; ++at)
    value = 10 * value + (*at - '0');
  double place = 0.1;
  if (*at == '.' && value >= 0)
    for (++at; *at >= '0' && *at <= '9'; ++at, place /= 10)
      value += place * (*at - '0');
  if (value > 0 && (*at == 'e' || *at == 'E')) value = at[1] == '-' ? 0 : -1; /* tiny, or implausible */
  *found = value;
  return skip_value(r);
}

static int whole(double number) { return number >= 0 && number < 2e9 ? (int)number : -1; }

/* Reads a list such as "0-3,8". Text longer than any list of CPUs is ignored, because parsing it could take
 * longer than the caller wants to wait. */
static void read_cpus(word text, unsigned long long* cpus) {
  if (text.size > longest_list) return;
  size_t at = 0;
  while (at < text.size) {
    int range[2] = {-1, -1};
    for (int end = 0; end < 2; ++end) {
      int number = -1;
      for (; at < text.size && text.text[at] >= '0' && text.text[at] <= '9'; ++at)
        if (number < most_cpus) number = 10 * (number < 0 ? 0 : number) + (text.text[at] - '0');
      range[end] = number;
      if (end == 0 && (at >= text.size || text.text[at] != '-')) {
        range[1] = number;
        break;
      }
      if (end == 0) ++at;
    }
    for (int cpu = range[0]; cpu >= 0 && cpu <= range[1] && cpu < most_cpus; ++cpu)
      cpus[cpu / bits] |= 1ULL << (cpu % bits);
    if (at < text.size && text.text[at] != ',') return;
    ++at;
  }
}

static int count_cpus(const millrace_dispatch_placed* placed) {
  int count = 0;
  for (size_t i = 0; i < sizeof placed->kept_on / sizeof *placed->kept_on; ++i)
    count += __builtin_popcountll(placed->kept_on[i]);
  return count;
}

static int read_thread_member(reader* r, word name, void* context) {
  millrace_dispatch_placed* placed = context;
  double number = -1;
  word text;
  if (is(name, "kept_on")) {
    if (next(r) != '"') return skip_value(r);
    if (!read_string(r, &text)) return 0;
    read_cpus(text, placed->kept_on);
    return 1;
  }
  if (!is(name, "thread") && !is(name, "process") && !is(name, "cpu") && !is(name, "busy"))
    return skip_value(r);
  if (!read_number(r, &number)) return 0;
  if (is(name, "thread")) placed->thread = whole(number);
  if (is(name, "process")) placed->process = whole(number);
  if (is(name, "cpu")) placed->cpu = whole(number);
  if (is(name, "busy")) placed->busy = number > 1 ? 1 : number;
  return 1;
}

typedef struct {
  millrace_dispatch_placed* placed;
  int count;
  int most;
} list;

static int read_thread(reader* r, word name, void* context) {
  (void)name;
  list* all = context;
  if (next(r) != '{') return skip_value(r);
  millrace_dispatch_placed one = {.process = -1, .thread = -1, .cpu = -1, .busy = -1};
  if (!visit(r, '{', '}', read_thread_member, &one)) return 0;
  if (one.thread > 0 && one.process > 0 && all->count < all->most && count_cpus(&one) > 0)
    all->placed[all->count++] = one;
  return 1;
}

static int read_program_member(reader* r, word name, void* context) {
  if (!is(name, "thread_list") || next(r) != '[') return skip_value(r);
  return visit(r, '[', ']', read_thread, context);
}
static int read_program(reader* r, word name, void* context) {
  (void)name;
  return next(r) == '{' ? visit(r, '{', '}', read_program_member, context) : skip_value(r);
}
static int read_parameter(reader* r, word name, void* context) {
  if (!is(name, "programs") || next(r) != '[') return skip_value(r);
  return visit(r, '[', ']', read_program, context);
}
static int read_reply_member(reader* r, word name, void* context) {
  if (!is(name, "parameters") || next(r) != '{') return skip_value(r);
  return visit(r, '{', '}', read_parameter, context);
}

int millrace_placed_of_reply(const char* text, millrace_dispatch_placed* placed, int most) {
  reader r = {text, 0};
  list all = {placed, 0, most};
  visit(&r, '{', '}', read_reply_member, &all);
  return all.count;
}

void millrace_promised(const millrace_dispatch_placed* placed, int count, pid_t other, double* promised,
                       int most) {
  for (int cpu = 0; cpu < most; ++cpu)
    promised[cpu] = 0;
  for (int i = 0; i < count; ++i) {
    const int cpus = count_cpus(&placed[i]);
    if (placed[i].thread == other || cpus == 0) continue;
    const double share = (placed[i].busy < 0 ? 1 : placed[i].busy) / cpus;
    for (int cpu = 0; cpu < most && cpu < most_cpus; ++cpu)
      if (placed[i].kept_on[cpu / bits] >> (cpu % bits) & 1) promised[cpu] += share;
  }
}
