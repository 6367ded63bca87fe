/* millrace exec --policy ./policy.so -- program: assigns threads to CPUs in turn. */
#include <millrace_policy.h>

int millrace_policy_version(void) { return MILLRACE_POLICY_VERSION; }

int millrace_place(const struct millrace_cpu* cpus, size_t cpu_count, const struct millrace_thread* threads,
                   size_t thread_count, struct millrace_choice* choices) {
  (void)cpus;
  for (size_t i = 0; i < thread_count; ++i)
    choices[i].cpus[(size_t)threads[i].number % cpu_count] = 1;
  return 0;
}
