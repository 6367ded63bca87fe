// KnownProgress: how well-known programs report their progress by default.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace millrace::placement {

struct KnownProgram {
  std::string name;                    // of its file
  std::string pattern;                 // as for ReportReader, applied to its standard error
  std::vector<std::string> silencers;  // command line words that make it report nothing
};

// Parses the format of known_progress.txt. Skips damaged lines.
[[nodiscard]] std::vector<KnownProgram> parse_known_programs(std::string_view text);
// The programs that ship with millrace.
[[nodiscard]] const std::vector<KnownProgram>& known_programs();

// Returns the pattern for this command's program; nothing if it is not known or will not report. `file`: the
// name of the file that will be executed, without folders.
[[nodiscard]] std::optional<std::string> known_progress(std::string_view file,
                                                        const std::vector<std::string>& command);

}  // namespace millrace::placement
