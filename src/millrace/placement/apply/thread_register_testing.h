// For tests: threads to follow, and a fixture for tests of ThreadRegister and its parts.
#pragma once

#include "millrace/base/testing/temporary_folder_testing.h"
#include "millrace/machine/thread/thread_affinity.h"
#include "millrace/placement/apply/thread_register.h"

#include <cstddef>
#include <latch>
#include <span>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <sys/types.h>

namespace millrace::placement {

// Threads of this process that wait until the object is destroyed.
class WaitingThreads {
 public:
  explicit WaitingThreads(int count) : begun_(count) {
    numbers_.resize(static_cast<std::size_t>(count));
    for (pid_t& number : numbers_)
      threads_.emplace_back([this, &number] {
        number = gettid();
        begun_.count_down();
        end_.wait();
      });
    begun_.wait();
  }
  ~WaitingThreads() { end_.count_down(); }
  [[nodiscard]] const std::vector<pid_t>& numbers() const { return numbers_; }

 private:
  std::latch begun_;
  std::latch end_{1};
  std::vector<pid_t> numbers_;
  std::vector<std::jthread> threads_;
};

// Gives each thread the first allowed CPU.
inline Policy first_allowed() {
  return {[](const MachineState& machine_state, std::span<const ThreadView> threads) {
            return std::vector<ThreadPlan>(threads.size(), {.mask = machine_state.allowed.first(1)});
          },
          {.each_by_itself = true, .explicit_masks = true}};
}

// Gives each thread but main this mask. Tests let another process stand in for the thread.
inline Policy others_on(const machine::CpuSet& mask) {
  return [mask](const MachineState&, std::span<const ThreadView> threads) {
    std::vector<ThreadPlan> plans(threads.size());
    for (std::size_t i = 0; i < threads.size(); ++i)
      if (!threads[i].main) plans[i].mask = mask;
    return plans;
  };
}

class FollowedThreads : public testing::Test {
 protected:
  TemporaryFolder own_;
  Journal journal_ = std::move(Journal::begin(std::move(StateFolder::open(own_.path()).value())).value());
  MachineState machine_state_{
      .topology = nullptr, .allowed = machine::current_thread_affinity().value(), .load = {}};
};

}  // namespace millrace::placement
