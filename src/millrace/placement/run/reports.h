// Reports: what a program tells of its progress while it runs, read along on its way.
#pragma once

#include "millrace/base/result.h"
#include "millrace/placement/program/program_file.h"
#include "millrace/placement/trials/output_tap.h"
#include "millrace/placement/trials/progress.h"

#include <optional>
#include <string>
#include <vector>

namespace millrace::placement {

// Where numbers that tell of progress are looked for.
enum class ReportStream { none, output, error, descriptor };

struct ProgressSettings {
  ReportStream stream = ReportStream::none;
  int descriptor = 0;   // of the program, for ReportStream::descriptor
  std::string pattern;  // see ReportReader
  // Where no stream is named, programs whose reports are known (known_progress.h) are read along all the
  // same, unless what they write and what they report go to one file.
  bool known_programs = false;
};

// `settings`, or where those name no stream, those of a program that is known (null: nothing is known of it).
[[nodiscard]] ProgressSettings with_known_progress(ProgressSettings settings, const ProgramFile* program,
                                                   const std::vector<std::string>& command);

struct Reports {
  ReportReader reader;
  OutputTap tap;
};
// Nothing where no stream is named. To be called while this process has one thread.
[[nodiscard]] Result<std::optional<Reports>> read_along(const ProgressSettings& settings);

}  // namespace millrace::placement
