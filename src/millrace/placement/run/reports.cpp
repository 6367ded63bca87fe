#include "millrace/placement/run/reports.h"

#include "millrace/placement/program/interactive_shell.h"
#include "millrace/placement/program/known_progress.h"

#include <fcntl.h>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>
#include <sys/stat.h>

namespace millrace::placement {
namespace {

bool same_file(int one, int other) {
  struct stat a{};
  struct stat b{};
  return fstat(one, &a) == 0 && fstat(other, &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

// Closed streams of this process are replaced by /dev/null, which the program does not inherit.
bool is_closed_for_program(int stream) {
  const int flags = fcntl(stream, F_GETFD);
  return flags < 0 || (flags & FD_CLOEXEC) != 0;
}

}  // namespace

ProgressSettings with_known_progress(ProgressSettings settings, const ProgramFile* program,
                                     const std::vector<std::string>& command) {
  if (settings.stream != ReportStream::none || !settings.known_programs || program == nullptr)
    return settings;
  // Output that passes through a process could arrive after output written directly.
  if (isatty(STDERR_FILENO) == 0 && same_file(STDOUT_FILENO, STDERR_FILENO)) return settings;
  if (auto pattern = known_progress(program->path.filename().string(), command)) {
    settings.pattern = std::move(*pattern);
    settings.stream = ReportStream::error;
  }
  return settings;
}

std::string why_left_alone(const ProgressSettings& settings, const std::vector<std::string>& command) {
  if (settings.stream != ReportStream::output && settings.stream != ReportStream::error) return "";
  const bool is_error = settings.stream == ReportStream::error;
  const int stream = is_error ? STDERR_FILENO : STDOUT_FILENO;
  if (is_closed_for_program(stream))
    return fmt::format("standard {} is closed, so no progress is read from it; name another stream with "
                       "--progress-from",
                       is_error ? "error" : "output");
  // Such a shell controls its jobs by the terminal on standard error.
  if (is_error && isatty(stream) != 0 && is_interactive_shell(command, isatty(STDIN_FILENO) != 0))
    return fmt::format("{} is an interactive shell and needs the terminal on standard error, so no progress "
                       "is read from it; name another stream with --progress-from",
                       command.front());
  return "";
}

Result<std::optional<Reports>> read_along(const ProgressSettings& settings) {
  if (settings.stream == ReportStream::none) return std::nullopt;
  auto reader = ReportReader::make(settings.pattern);
  if (!reader) return std::unexpected(reader.error());
  auto tap = settings.stream == ReportStream::descriptor ? OutputTap::on_new_descriptor(settings.descriptor)
             : settings.stream == ReportStream::output   ? OutputTap::on_stream(STDOUT_FILENO)
                                                         : OutputTap::on_stream(STDERR_FILENO);
  if (!tap) return std::unexpected(tap.error());
  return Reports{std::move(*reader), std::move(*tap)};
}

}  // namespace millrace::placement
