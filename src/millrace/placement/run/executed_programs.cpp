#include "millrace/placement/run/executed_programs.h"

#include <algorithm>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

namespace millrace::placement {
namespace {

bool is_same_file(const struct stat& one, const struct stat& other) {
  return one.st_dev == other.st_dev && one.st_ino == other.st_ino && one.st_size == other.st_size &&
         one.st_mode == other.st_mode && one.st_ctim.tv_sec == other.st_ctim.tv_sec &&
         one.st_ctim.tv_nsec == other.st_ctim.tv_nsec;
}

}  // namespace

void ExecutedPrograms::expect(const ProgramFile& program) {
  if (stat(program.path.c_str(), &expected_status_) == 0) expected_ = program;
}

Result<ProgramFile> ExecutedPrograms::file_of(pid_t process) const {
  const std::string name = fmt::format("/proc/{}/exe", process);
  struct stat status{};
  if (expected_ && stat(name.c_str(), &status) == 0 && is_same_file(status, expected_status_))
    return *expected_;
  return inspect_program(name);
}

void ExecutedPrograms::note(std::string text) {
  const std::scoped_lock lock(mutex_);
  if (std::ranges::find(notes_, text) == notes_.end()) notes_.push_back(std::move(text));
}

bool ExecutedPrograms::must_not_be_traced(pid_t process) {
  const auto program = file_of(process);
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
