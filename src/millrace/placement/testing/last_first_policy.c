/* The worked example of docs/exec.md: threads take one CPU each, from the last to the first; main keeps
 * all CPUs. */
#include "millrace_policy.h"

int millrace_policy_version(void) { return MILLRACE_POLICY_VERSION; }

int millrace_place(const struct millrace_cpu* cpus, size_t cpu_count, const struct millrace_thread* threads,
                   size_t thread_count, struct millrace_choice* choices) {
  (void)cpus;
  size_t next = 0;
  for (size_t i = 0; i < thread_count; ++i) {
    if (threads[i].main) continue;
    choices[i].cpus[cpu_count - 1 - next % cpu_count] = 1;
    ++next;
  }
  return 0;
}
