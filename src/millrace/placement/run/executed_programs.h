// ExecutedPrograms: checks whether a traced program executes another one that must not be traced.
#pragma once

#include "millrace/placement/program/program_file.h"

#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <sys/stat.h>
#include <sys/types.h>

namespace millrace::placement {

// Thread-safe.
class ExecutedPrograms {
 public:
  // Saves reading this program's file again, for which the program would wait at its start. Call it before
  // the program runs.
  void expect(const ProgramFile& program);
  // True if the program that a process has just executed must not be traced. Records notes for the user.
  [[nodiscard]] bool must_not_be_traced(pid_t process);
  [[nodiscard]] std::vector<std::string> notes() const;

 private:
  // The file that a process executes.
  [[nodiscard]] Result<ProgramFile> file_of(pid_t process) const;
  void note(std::string text);

  std::optional<ProgramFile> expected_;
  struct stat expected_status_{};
  mutable std::mutex mutex_;
  std::vector<std::string> notes_;  // each once
};

}  // namespace millrace::placement
