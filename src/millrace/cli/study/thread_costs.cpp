#include "millrace/cli/study/thread_costs.h"

#include "millrace/base/error/clock.h"
#include "millrace/base/numbers/median.h"
#include "millrace/machine/thread/thread_affinity.h"

#include <cstdint>
#include <system_error>
#include <thread>
#include <vector>

namespace millrace::cli {
namespace {

constexpr int repetitions = 200;
constexpr double ms_for_ns = 1e-6;

double ms_since(std::int64_t start_ns) { return ms_for_ns * static_cast<double>(now_ns() - start_ns); }

}  // namespace

Result<report::ThreadCosts> measure_thread_costs(const machine::CpuSet& cpus) {
  std::vector<double> births;
  std::vector<double> migrations;
  try {
    for (int i = 0; i < repetitions; ++i) {
      const std::int64_t start = now_ns();
      std::jthread thread([] {});
      births.push_back(ms_since(start));
    }
  } catch (const std::system_error& error) {
    return failure("cannot create threads: {}; raise 'ulimit -u'", error.what());
  }
  const machine::AffinityGuard guard;
  const machine::CpuSet first = cpus.first(1);
  const machine::CpuSet second = (cpus - first).first(1);
  for (int i = 0; i < repetitions && !second.empty(); ++i) {
    const std::int64_t start = now_ns();
    // The call returns on the other CPU, so its duration is that of a migration.
    if (const auto bound = machine::bind_current_thread(i % 2 == 0 ? second : first); !bound)
      return std::unexpected(bound.error());
    migrations.push_back(ms_since(start));
  }
  return report::ThreadCosts{.birth_ms = median(births), .migration_ms = median(migrations)};
}

}  // namespace millrace::cli
