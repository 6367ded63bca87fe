#include "millrace/placement/policy/machine_state.h"

#include "millrace/base/file/system_file.h"
#include "millrace/machine/limits/cpu_times.h"
#include "millrace/machine/thread/scheduling_attributes.h"
#include "millrace/machine/thread/thread_affinity.h"
#include "millrace/placement/task/task_files.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <system_error>
#include <thread>
#include <tuple>
#include <unistd.h>

#include <fmt/format.h>
#include <sys/prctl.h>

namespace millrace::placement {
namespace {

// Collects the replies of the probe threads.
class Answers {
 public:
  void began() {
    const std::scoped_lock lock(mutex_);
    threads_.push_back(gettid());
  }
  // Called by the thread itself: its number may be reused soon.
  void ended(bool answered) {
    const std::scoped_lock lock(mutex_);
    std::erase(threads_, gettid());
    answered_ += answered ? 1 : 0;
    ++ended_;
    changed_.notify_one();
  }
  // Waits until all have replied or the time is up; returns how many replied.
  [[nodiscard]] int wait_for(int count, std::chrono::milliseconds patience) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, patience, [&] { return ended_ == count; });
    return answered_;
  }
  void release(const machine::CpuSet& allowed) {
    const std::scoped_lock lock(mutex_);
    for (const pid_t thread : threads_)
      std::ignore = machine::bind_thread(thread, allowed);
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<pid_t> threads_;
  int answered_ = 0;
  int ended_ = 0;
};

// Runs on `cpu`, and again after each of several short sleeps. On a busy CPU a probe can still run at once
// now and then: when a slice happens to end, or when another thread goes to sleep, as threads that hand work
// to each other do all the time. It cannot do so every time.
void ask(int cpu, Answers& answers) {
  constexpr int sleeps = 16;
  constexpr useconds_t moment_us = 20;
  answers.began();
  // Affects only this thread: sleeps last as long as requested.
  prctl(PR_SET_TIMERSLACK, 1UL);
  // Threads of this class preempt nothing when they wake, so they are late on a busy CPU.
  const bool bound =
      machine::change_scheduling(0, {.scheduling_class = machine::SchedulingClass::batch}).has_value() &&
      machine::bind_thread(0, {cpu}).has_value();
  for (int sleep = 0; bound && sleep < sleeps; ++sleep)
    usleep(moment_us);
  answers.ended(bound);
}

// Starts one thread for each of `cpus`, or as many as this user may have.
std::vector<std::jthread> ask_each(const std::vector<int>& cpus, Answers& answers) {
  std::vector<std::jthread> probes;
  try {
    for (const int cpu : cpus)
      probes.emplace_back([&answers, cpu] { ask(cpu, answers); });
  } catch (const std::system_error&) {
    return probes;
  }
  return probes;
}

}  // namespace

Result<MachineState> read_machine_state(const machine::CpuSet& allowed,
                                        std::optional<machine::Topology>& topology, bool load) {
  const auto before = load ? read_system_file("/proc/stat") : std::nullopt;
  if (!topology) {
    auto live = machine::Topology::live();
    if (!live) return std::unexpected(live.error());
    topology.emplace(std::move(*live));
  }
  MachineState machine_state{.topology = &*topology, .allowed = allowed};
  if (before) {
    // The kernel counts in ticks of 10 ms: over a shorter time, most CPUs show nothing.
    constexpr useconds_t two_ticks_us = 20'000;
    usleep(two_ticks_us);
    if (const auto after = read_system_file("/proc/stat"))
      machine_state.load = machine::parse_load(*before, *after);
  }
  return machine_state;
}

bool taken_by_others(int asked, int silent) {
  constexpr int cpus_for_each = 4;
  return asked == 0 || silent > asked / cpus_for_each;
}

std::vector<int> cpus_to_ask(const machine::CpuSet& allowed, int most) {
  const std::vector<int> cpus = allowed.to_vector();
  const std::size_t count = std::min(cpus.size(), static_cast<std::size_t>(most));
  std::vector<int> asked;
  asked.reserve(count);
  for (std::size_t i = 0; i < count; ++i)
    asked.push_back(cpus[i * cpus.size() / count]);
  return asked;
}

bool others_are_running(const machine::CpuSet& allowed) {
  constexpr int most_asked = 8;
  constexpr std::chrono::milliseconds patience(2);
  Answers answers;
  const std::vector<std::jthread> probes = ask_each(cpus_to_ask(allowed, most_asked), answers);
  const auto asked = static_cast<int>(probes.size());
  const int silent = asked - answers.wait_for(asked, patience);
  // Lets the waiting probes move to other CPUs, so that they end soon.
  if (silent > 0) answers.release(allowed);
  return taken_by_others(asked, silent);
}

double taken_share(std::span<const double> load, const machine::CpuSet& allowed, double seconds,
                   double own_seconds) {
  if (allowed.empty() || seconds <= 0) return 0;
  double busy = 0;
  for (const int cpu : allowed)
    if (static_cast<std::size_t>(cpu) < load.size()) busy += load[static_cast<std::size_t>(cpu)];
  return std::clamp((busy - own_seconds / seconds) / allowed.count(), 0.0, 1.0);
}

std::vector<std::string> diagnostics(bool attributes_changed) {
  std::vector<std::string> notes;
  const auto first_word = [](const char* path) {
    std::string text = read_system_file(path).value_or("");
    text.erase(std::min(text.find_first_of(" \n"), text.size()));
    return text;
  };
  if (attributes_changed && first_word("/proc/sys/kernel/sched_autogroup_enabled") == "1")
    notes.emplace_back("autogroups are on (kernel.sched_autogroup_enabled): class and slice count among the "
                       "programs of one session only");
  if (first_word("/sys/kernel/sched_ext/state") == "enabled")
    notes.emplace_back("a sched_ext scheduler is loaded: it decides what class and slice mean");
  for (const char* name : {"OMP_PROC_BIND", "OMP_PLACES", "GOMP_CPU_AFFINITY", "KMP_AFFINITY"})
    if (std::getenv(name) != nullptr)  // NOLINT(concurrency-mt-unsafe): nothing sets it
      notes.push_back(fmt::format("{} is set: the program may place its threads itself", name));
  return notes;
}

}  // namespace millrace::placement
