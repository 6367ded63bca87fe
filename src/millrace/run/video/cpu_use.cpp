#include "millrace/run/video/cpu_use.h"

#include "millrace/base/error/clock.h"
#include "millrace/base/file/system_file.h"
#include "millrace/base/numbers/counted.h"
#include "millrace/base/text/parse_number.h"
#include "millrace/base/text/take_word.h"

#include <algorithm>
#include <filesystem>
#include <limits>
#include <string_view>
#include <system_error>
#include <unistd.h>

#include <fmt/format.h>
#include <sys/resource.h>

namespace millrace::run {
namespace {

constexpr std::size_t most_workers = 64;  // limit on the files read

// Smaller shares are not worth a message.
constexpr double told_share = 0.1;

// Share of the CPUs that this process may use. Above it the process's own threads compete for CPUs.
constexpr double own_share = 0.85;

double own_share_of(const CpuUse& use) {
  const double all = use.wall * std::max(use.cpus, 1);
  return all > 0 ? std::min(1.0, use.process / all) : 0;
}

}  // namespace

double waiting_share(const CpuUse& use) {
  const double busy = use.ran + use.waited;
  return busy > 0 ? use.waited / busy : 0;
}

bool lacks_cpus(const CpuUse& use) {
  return waiting_share(use) > told_share && own_share_of(use) < own_share;
}

std::string describe(const CpuUse& use) {
  if (!(waiting_share(use) > told_share)) return "";
  return fmt::format(
      "the workers waited {:.0f} % of their time for a CPU, as {}; this run used {:.0f} % of {}",
      100 * waiting_share(use),
      lacks_cpus(use) ? "other programs used them" : "it has more busy threads than CPUs",
      100 * own_share_of(use), counted(use.cpus, "CPU"));
}

std::vector<WorkerTimes> worker_times() {
  constexpr std::string_view prefix = "worker-";
  std::vector<WorkerTimes> workers;
  std::error_code gone;
  for (std::filesystem::directory_iterator each("/proc/self/task", gone), end; !gone && each != end;
       each.increment(gone)) {
    const std::string folder = each->path().string();
    const auto thread = parse_number<pid_t>(each->path().filename().string());
    if (!thread) continue;
    int number = std::numeric_limits<int>::max();
    if (*thread != gettid()) {
      if (workers.size() >= most_workers) continue;
      const auto name = read_system_file(folder + "/comm");
      if (!name || !name->starts_with(prefix)) continue;
      std::string_view words = std::string_view(*name).substr(prefix.size());
      number = parse_number<int>(take_word(words)).value_or(0);
    }
    const auto text = read_system_file(folder + "/schedstat");
    std::string_view words = text ? std::string_view(*text) : std::string_view();
    const auto ran = parse_number<std::int64_t>(take_word(words));
    const auto waited = parse_number<std::int64_t>(take_word(words));
    if (ran && waited) workers.push_back({*thread, number, seconds(*ran), seconds(*waited)});
  }
  std::ranges::sort(workers, {}, &WorkerTimes::number);
  return workers;
}

double process_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto of = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return of(usage.ru_utime) + of(usage.ru_stime);
}

CpuWatch::CpuWatch() : begin_ns_(now_ns()), workers_(worker_times()), process_(process_seconds()) {}

std::optional<CpuUse> CpuWatch::since_then(int cpus) const {
  CpuUse use{.process = process_seconds() - process_, .wall = seconds(now_ns() - begin_ns_), .cpus = cpus};
  const std::vector<WorkerTimes> now = worker_times();
  if (now.empty()) return std::nullopt;
  for (const WorkerTimes& worker : now) {
    const auto before = std::ranges::find(workers_, worker.thread, &WorkerTimes::thread);
    const WorkerTimes from = before == workers_.end() ? WorkerTimes() : *before;
    use.ran += std::max(0.0, worker.ran - from.ran);
    use.waited += std::max(0.0, worker.waited - from.waited);
  }
  return use;
}

}  // namespace millrace::run
