#include "millrace/placement/run/executed_programs.h"

#include "millrace/placement/program/program_file.h"

#include <algorithm>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

namespace millrace::placement {

void ExecutedPrograms::note(std::string text) {
  const std::scoped_lock lock(mutex_);
  if (std::ranges::find(notes_, text) == notes_.end()) notes_.push_back(std::move(text));
}

bool ExecutedPrograms::must_not_be_traced(pid_t process) {
  const auto program = inspect_program(fmt::format("/proc/{}/exe", process));
  if (!program) return false;
  const std::string name = program->path.filename().string();
  if (program->changes_user && geteuid() != 0)
    note(fmt::format(
        "'{}' was started without the rights of its file, as the program that started it was traced; "
        "use --detect poll",
        name));
  if (!program->traces && !program->sanitized) return false;
  note(fmt::format("'{}' traces programs itself: births are found by polling from its start on", name));
  return true;
}

std::vector<std::string> ExecutedPrograms::notes() const {
  const std::scoped_lock lock(mutex_);
  return notes_;
}

}  // namespace millrace::placement
