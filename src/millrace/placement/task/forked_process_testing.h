// For tests: a child process to observe and change.
#pragma once

#include "millrace/base/testing/eventually_testing.h"
#include "millrace/placement/task/task_files.h"

#include <csignal>
#include <functional>
#include <unistd.h>

#include <sys/types.h>
#include <sys/wait.h>

namespace millrace::placement {

// Repeats `work` until the object is destroyed. By default it waits for a signal.
class ForkedProcess {
 public:
  explicit ForkedProcess(const std::function<void()>& work = [] { pause(); }) : number_(fork()) {
    if (number_ == 0)
      while (true)
        work();
  }
  ~ForkedProcess() {
    kill(number_, SIGKILL);
    waitpid(number_, nullptr, 0);
  }
  ForkedProcess(const ForkedProcess&) = delete;
  ForkedProcess& operator=(const ForkedProcess&) = delete;

  [[nodiscard]] pid_t number() const { return number_; }
  // Waits for the process to reach this state, a letter as in /proc. False if it does not.
  [[nodiscard]] bool becomes(char state) const {
    return eventually([&] { return read_task_stat(number_, number_)->state == state; });
  }

 private:
  pid_t number_;
};

}  // namespace millrace::placement
