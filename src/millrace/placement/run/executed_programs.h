// ExecutedPrograms: what a traced program executes may want what a traced program may not have.
#pragma once

#include <mutex>
#include <string>
#include <vector>

#include <sys/types.h>

namespace millrace::placement {

// Any thread may call any function at any time.
class ExecutedPrograms {
 public:
  // Whether the program that a process has just executed must not be traced. What a user should know of it is
  // noted.
  [[nodiscard]] bool must_not_be_traced(pid_t process);
  [[nodiscard]] std::vector<std::string> notes() const;

 private:
  void note(std::string text);

  mutable std::mutex mutex_;
  std::vector<std::string> notes_;  // each once
};

}  // namespace millrace::placement
