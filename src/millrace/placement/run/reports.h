// Reports: reads the progress that a program reports while it runs, as its output passes by.
#pragma once

#include "millrace/base/error/result.h"
#include "millrace/placement/program/program_file.h"
#include "millrace/placement/trials/output_tap.h"
#include "millrace/placement/trials/progress.h"

#include <optional>
#include <string>
#include <vector>

namespace millrace::placement {

// Where to look for progress numbers.
enum class ReportStream { none, output, error, descriptor };

struct ProgressSettings {
  ReportStream stream = ReportStream::none;
  int descriptor = 0;   // of the program, for ReportStream::descriptor
  std::string pattern;  // see ReportReader
  // If no stream is named, also read the reports of known programs (known_progress.h). Not if their output
  // and their reports go to the same file.
  bool known_programs = false;
};

// Returns `settings`, or the settings for a known program if no stream is named (null: nothing is known of
// the program).
[[nodiscard]] ProgressSettings with_known_progress(ProgressSettings settings, const ProgramFile* program,
                                                   const std::vector<std::string>& command);

// Why the stream that `settings` names must be left alone; "" if it can be read along.
[[nodiscard]] std::string why_left_alone(const ProgressSettings& settings,
                                         const std::vector<std::string>& command);

struct Reports {
  ReportReader reader;
  OutputTap tap;
};
// Returns nothing if no stream is named. Call this while the process is single-threaded.
[[nodiscard]] Result<std::optional<Reports>> read_along(const ProgressSettings& settings);

}  // namespace millrace::placement
