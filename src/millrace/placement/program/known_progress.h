// KnownProgress: how well-known programs tell of their progress without being asked to.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace millrace::placement {

struct KnownProgram {
  std::string name;                    // of its file
  std::string pattern;                 // as of ReportReader, for what it writes to standard error
  std::vector<std::string> silencers;  // words of a command line with which it reports nothing
};

// As known_progress.txt tells. Damaged lines are passed over.
[[nodiscard]] std::vector<KnownProgram> parse_known_programs(std::string_view text);
// Those that ship with millrace.
[[nodiscard]] const std::vector<KnownProgram>& known_programs();

// The pattern of the program of this command; nothing where it is not known, or will not report. `file`: the
// name of the file that will be executed, without folders.
[[nodiscard]] std::optional<std::string> known_progress(std::string_view file,
                                                        const std::vector<std::string>& command);

}  // namespace millrace::placement
