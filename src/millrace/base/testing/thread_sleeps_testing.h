// Tells in a test whether threads sleep, as the kernel sees them. A thread that sleeps and is not woken uses
// no CPU.
//
//   EXPECT_TRUE(come_to_rest([](pid_t, const ThreadSleeps& thread) { return
//   thread.name.starts_with("worker-"); }));
#pragma once

#include "millrace/base/testing/eventually_testing.h"

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <system_error>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

namespace millrace {

struct ThreadSleeps {
  std::string name;
  bool asleep = false;
  std::int64_t count = 0;  // how often it has fallen asleep
  friend bool operator==(const ThreadSleeps&, const ThreadSleeps&) = default;
};

// All threads of a process, by number.
[[nodiscard]] inline std::map<pid_t, ThreadSleeps> thread_sleeps(pid_t process) {
  std::map<pid_t, ThreadSleeps> all;
  std::error_code gone;
  for (const auto& task : std::filesystem::directory_iterator(fmt::format("/proc/{}/task", process), gone)) {
    ThreadSleeps& thread = all[static_cast<pid_t>(std::stol(task.path().filename()))];
    std::ifstream status(task.path() / "status");
    for (std::string line; std::getline(status, line);) {
      const std::string value = line.substr(line.find('\t') + 1);
      if (line.starts_with("Name:")) thread.name = value;
      if (line.starts_with("State:")) thread.asleep = value.starts_with('S');
      if (line.starts_with("voluntary_ctxt_switches:")) thread.count = std::stoll(value);
    }
  }
  return all;
}

// Waits until the selected threads of this process all sleep and none of them wakes for a while. Returns
// false if that does not happen within a minute, as when a thread polls.
template <class Selects> [[nodiscard]] bool come_to_rest(const Selects& selects) {
  constexpr int looks = 20;  // each is a millisecond or more after the one before
  std::map<pid_t, ThreadSleeps> before;
  int alike = 0;
  return eventually([&] {
    auto now = thread_sleeps(getpid());
    bool all_asleep = true;
    std::erase_if(now, [&](const auto& thread) { return !selects(thread.first, thread.second); });
    for (const auto& [number, thread] : now)
      all_asleep = all_asleep && thread.asleep;
    const bool unchanged = now == std::exchange(before, now);
    alike = all_asleep && unchanged ? alike + 1 : 0;
    return alike >= looks;
  });
}

// Waits until the threads of a process have fallen asleep so many times more. A loop that waits for events
// does so in each of its rounds.
[[nodiscard]] inline bool sleeps_again(pid_t process, int times) {
  const auto count = [process] {
    std::int64_t sum = 0;
    for (const auto& [number, thread] : thread_sleeps(process))
      sum += thread.count;
    return sum;
  };
  const std::int64_t before = count();
  return eventually([&] { return count() >= before + times; });
}

}  // namespace millrace
