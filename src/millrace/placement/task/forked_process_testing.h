// A process of a test's own, for looking at and changing.
#pragma once

#include "millrace/base/eventually_testing.h"
#include "millrace/placement/task/task_files.h"

#include <csignal>
#include <functional>
#include <unistd.h>

#include <sys/types.h>
#include <sys/wait.h>

namespace millrace::placement {

// Repeats its work, waiting for a signal if none is given, until the object is gone.
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
  // Whether its state, a letter of /proc, becomes this one while the test is patient.
  [[nodiscard]] bool becomes(char state) const {
    return eventually([&] { return read_task_stat(number_, number_)->state == state; });
  }

 private:
  pid_t number_;
};

}  // namespace millrace::placement
