// ExecutedPrograms: checks whether a traced program executes another one that must not be traced.
#pragma once

#include <mutex>
#include <string>
#include <vector>

#include <sys/types.h>

namespace millrace::placement {

// Thread-safe.
class ExecutedPrograms {
 public:
  // True if the program that a process has just executed must not be traced. Records notes for the user.
  [[nodiscard]] bool must_not_be_traced(pid_t process);
  [[nodiscard]] std::vector<std::string> notes() const;

 private:
  void note(std::string text);

  mutable std::mutex mutex_;
  std::vector<std::string> notes_;  // each once
};

}  // namespace millrace::placement
