#include "millrace/placement/run/reports.h"

#include "millrace/placement/program/known_progress.h"

#include <unistd.h>
#include <utility>

#include <sys/stat.h>

namespace millrace::placement {
namespace {

bool same_file(int one, int other) {
  struct stat a{};
  struct stat b{};
  return fstat(one, &a) == 0 && fstat(other, &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
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
