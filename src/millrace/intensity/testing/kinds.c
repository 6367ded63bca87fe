/* kinds [-c] SECONDS KIND...: starts a thread of each kind, named after it, that ends after SECONDS of CPU
 * time. It is an example of a program whose threads use different execution units and levels of memory.
 * With -c it prints how much work each thread did, for comparison with other runs.
 *
 *   int branch            integers; the same with unpredictable branches
 *   fp fma libm jit       floating point: scalar, vectors, the C library's functions, generated code
 *   sad                   integers in vectors, as video encoders compare blocks
 *   alternate             int and fma in turn, 50 ms each
 *   copy                  copies pages within 64 KiB
 *   chase:SIZE            follows pointers through this much memory (4K, 16M)
 *   sum:SIZE triad:SIZE   reads it from front to back: as integers; as floating point with writes
 *   random:SIZE           reads it at random; SIZE must be a power of two
 *   bytes:SIZE            the same, byte by byte: each load overwrites its own address register
 *   shared:SIZE           the same, in memory that all threads of this kind share
 *   sleep                 sleeps for SECONDS */
#define _GNU_SOURCE
#include <immintrin.h>
#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

struct work {
  const char* name;
  size_t size;
  char* data;
  size_t at; /* where a walk continues */
  void* pointer;
  double seconds;
  long done; /* calls */
};

enum { rounds = 100000 };

static double clock_seconds(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static uint64_t next_random(uint64_t x) {
  x ^= x << 13;
  x ^= x >> 7;
  return x ^ x << 17;
}

static void integers(struct work* work) {
  (void)work;
  uint64_t x = 88172645463325252u, sum = 0;
  for (int i = 0; i < rounds; ++i) {
    x = next_random(x);
    sum += x * 0x9e3779b97f4a7c15u;
    sum ^= sum >> 29;
  }
  __asm__ volatile("" ::"r"(sum));
}

static void branches(struct work* work) {
  (void)work;
  uint64_t x = 88172645463325252u, sum = 0;
  for (int i = 0; i < rounds; ++i) {
    x = next_random(x);
    if (x & 4) {
      __asm__ volatile("" : "+r"(sum));
      sum += x;
    } else {
      __asm__ volatile("" : "+r"(sum));
      sum ^= x >> 1;
    }
    if (x & 64) {
      __asm__ volatile("" : "+r"(sum));
      sum += 3;
    } else {
      __asm__ volatile("" : "+r"(sum));
      sum -= x;
    }
  }
  __asm__ volatile("" ::"r"(sum));
}

static void scalar(struct work* work) {
  (void)work;
  double a = 1, b = 0.5, c = 0.25, d = 0.125;
  for (int i = 0; i < rounds; ++i) {
    a = a * 1.0000001 + 1e-9;
    b = b * 1.0000002 + 1e-9;
    c = c * 0.9999999 + 1e-9;
    d = d * 0.9999998 + 1e-9;
  }
  double sum = a + b + c + d;
  __asm__ volatile("" ::"x"(sum));
}

__attribute__((target("avx2,fma"))) static void vectors(struct work* work) {
  (void)work;
  __m256d sums[8];
  for (int j = 0; j < 8; ++j)
    sums[j] = _mm256_set1_pd(1.0 + j);
  const __m256d factor = _mm256_set1_pd(0.999999), step = _mm256_set1_pd(1e-6);
  for (int i = 0; i < rounds; ++i) {
#pragma GCC unroll 8
    for (int j = 0; j < 8; ++j)
      sums[j] = _mm256_fmadd_pd(sums[j], factor, step);
  }
  for (int j = 1; j < 8; ++j)
    sums[0] = _mm256_add_pd(sums[0], sums[j]);
  __asm__ volatile("" ::"x"(sums[0]));
}

static void differences(struct work* work) {
  __m128i sum = _mm_setzero_si128();
  for (int i = 0; i < rounds / 16; ++i) {
    const char* block = work->data + ((size_t)i * 512 & 0x3fff);
#pragma GCC unroll 8
    for (int j = 0; j < 8; ++j) {
      const __m128i x = _mm_loadu_si128((const __m128i*)(block + j * 16));
      const __m128i y = _mm_loadu_si128((const __m128i*)(block + j * 16 + 13));
      sum = _mm_add_epi64(sum, _mm_sad_epu8(x, y));
      sum = _mm_xor_si128(sum, _mm_avg_epu8(x, y));
    }
  }
  __asm__ volatile("" ::"x"(sum));
}

static void library(struct work* work) {
  (void)work;
  double x = 0.3;
  for (int i = 0; i < rounds / 50; ++i)
    x = sin(x) + cos(x * 1.1) * 0.5 + exp(-x);
  __asm__ volatile("" ::"x"(x));
}

static void made_at_run_time(struct work* work) {
  /* mov ecx, 200000; again: addsd xmm0, xmm1; mulsd xmm2, xmm1; addsd xmm3, xmm1; dec ecx; jnz again; ret */
  static const unsigned char code[] = {0xb9, 0x40, 0x0d, 0x03, 0x00, 0xf2, 0x0f, 0x58, 0xc1, 0xf2, 0x0f, 0x59,
                                       0xd1, 0xf2, 0x0f, 0x58, 0xd9, 0xff, 0xc9, 0x75, 0xf0, 0xc3};
  if (work->pointer == NULL) {
    work->pointer = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (work->pointer == MAP_FAILED) exit(4);
    memcpy(work->pointer, code, sizeof(code));
  }
  __asm__ volatile("call *%0" ::"r"(work->pointer) : "ecx", "xmm0", "xmm1", "xmm2", "xmm3", "cc", "memory");
}

static void alternate(struct work* work) {
  if ((long)(clock_seconds(CLOCK_MONOTONIC) * 20) & 1)
    integers(work);
  else
    vectors(work);
}

static void copy(struct work* work) {
  for (int i = 0; i < 256; ++i)
    memcpy(work->data + ((i * 4096 + 32768) & 0xffff), work->data + ((i * 8192) & 0x7fff), 4096);
}

static void chase(struct work* work) {
  void** p = work->pointer;
  for (int i = 0; i < rounds / 50; ++i)
    p = *p;
  work->pointer = p;
}

/* One cycle through all cache lines, in random order. */
static void lay_pointers(struct work* work) {
  const size_t lines = work->size / 64;
  uint32_t* order = malloc(lines * sizeof(*order));
  for (size_t i = 0; i < lines; ++i)
    order[i] = (uint32_t)i;
  uint64_t x = 88172645463325252u;
  for (size_t i = lines - 1; i > 0; --i) {
    x = next_random(x);
    const size_t j = x % (i + 1);
    const uint32_t kept = order[i];
    order[i] = order[j];
    order[j] = kept;
  }
  for (size_t i = 0; i < lines; ++i)
    *(void**)(work->data + 64ul * order[i]) = work->data + 64ul * order[(i + 1) % lines];
  work->pointer = work->data;
  free(order);
}

static void sum(struct work* work) {
  const uint64_t* values = (const uint64_t*)work->data;
  const size_t count = work->size / 8, part = count < 65536 ? count : 65536;
  if (work->at + part > count) work->at = 0;
  const size_t end = work->at + part;
  uint64_t a = 0, b = 0, c = 0, d = 0;
  for (size_t i = work->at; i + 8 <= end; i += 8) {
    a += values[i];
    b += values[i + 2];
    c += values[i + 4];
    d += values[i + 6];
  }
  work->at = end;
  __asm__ volatile("" ::"r"(a + b + c + d));
}

static void triad(struct work* work) {
  const size_t count = work->size / 24, part = count < 65536 ? count : 65536;
  double *a = (double*)work->data, *b = a + count, *c = b + count;
  if (work->at + part > count) work->at = 0;
  const size_t end = work->at + part;
  const __m128d factor = _mm_set1_pd(3);
  for (size_t i = work->at; i + 2 <= end; i += 2)
    _mm_storeu_pd(a + i, _mm_add_pd(_mm_mul_pd(_mm_loadu_pd(c + i), factor), _mm_loadu_pd(b + i)));
  work->at = end;
}

static void read_at_random(struct work* work) {
  uint64_t x = 88172645463325252u ^ (uint64_t)(work->at++ * 0x9e3779b97f4a7c15u), total = 0;
  for (int i = 0; i < rounds; ++i) {
    x = next_random(x);
    total += *(const uint64_t*)(work->data + (x & (work->size - 8)));
  }
  __asm__ volatile("" ::"r"(total));
}

static void read_bytes(struct work* work) {
  uint64_t x = 88172645463325252u ^ (uint64_t)(work->at++ * 0x9e3779b97f4a7c15u), total = 0;
  const uint64_t mask = work->size - 1;
  for (int i = 0; i < rounds; ++i) {
    x = next_random(x);
    total += (uint64_t)(int64_t) * (const signed char*)(work->data + (x & mask));
  }
  __asm__ volatile("" ::"r"(total));
}

static void rest(struct work* work) {
  const struct timespec pause = {(time_t)work->seconds, (long)((work->seconds - (double)(long)work->seconds) * 1e9)};
  nanosleep(&pause, NULL);
  work->seconds = 0;
}

static const struct kind {
  const char* name;
  void (*run)(struct work*);
} kinds[] = {{"int", integers},   {"branch", branches},       {"fp", scalar},       {"fma", vectors},
             {"libm", library},   {"jit", made_at_run_time},  {"sad", differences}, {"alternate", alternate},
             {"copy", copy},      {"chase", chase},           {"sum", sum},         {"triad", triad},
             {"random", read_at_random}, {"shared", read_at_random}, {"bytes", read_bytes}, {"sleep", rest}};

static const struct kind* kind_of(const char* name) {
  const size_t length = strcspn(name, ":");
  for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); ++i)
    if (strlen(kinds[i].name) == length && strncmp(kinds[i].name, name, length) == 0) return &kinds[i];
  fprintf(stderr, "kinds: there is no kind '%s'\n", name);
  exit(2);
}

static char* memory_of(size_t size) {
  char* data = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED) exit(4);
  memset(data, 1, size);
  return data;
}

static void* body(void* argument) {
  struct work* work = argument;
  const struct kind* kind = kind_of(work->name);
  pthread_setname_np(pthread_self(), work->name);
  if (work->data == NULL) work->data = memory_of(work->size);
  if (kind->run == chase) lay_pointers(work);
  const double begun = clock_seconds(CLOCK_THREAD_CPUTIME_ID);
  do {
    kind->run(work);
    ++work->done;
  } while (clock_seconds(CLOCK_THREAD_CPUTIME_ID) - begun < work->seconds);
  return NULL;
}

int main(int count, char** arguments) {
  const int tells = count > 1 && strcmp(arguments[1], "-c") == 0;
  count -= tells;
  arguments += tells;
  if (count < 3) return 2;
  const int threads = count - 2;
  struct work* works = calloc((size_t)threads, sizeof(*works));
  pthread_t* handles = calloc((size_t)threads, sizeof(*handles));
  char* shared = NULL;
  for (int i = 0; i < threads; ++i) {
    struct work* work = &works[i];
    work->name = arguments[2 + i];
    work->seconds = atof(arguments[1]);
    const char* size = strchr(work->name, ':');
    char* unit = NULL;
    work->size = size == NULL ? 65536 : strtoul(size + 1, &unit, 10);
    if (unit != NULL && *unit == 'K') work->size <<= 10;
    if (unit != NULL && *unit == 'M') work->size <<= 20;
    if (strncmp(work->name, "shared", 6) == 0) {
      if (shared == NULL) shared = memory_of(work->size);
      work->data = shared;
    }
    kind_of(work->name);
  }
  for (int i = 0; i < threads; ++i)
    if (pthread_create(&handles[i], NULL, body, &works[i]) != 0) return 3;
  for (int i = 0; i < threads; ++i)
    pthread_join(handles[i], NULL);
  for (int i = 0; tells && i < threads; ++i)
    printf("%s %ld\n", works[i].name, works[i].done);
  return 0;
}
