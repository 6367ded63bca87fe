#include "millrace/placement/program/known_progress.h"

#include <algorithm>
#include <array>
#include <cstddef>

// The file, embedded in this program. NOLINTBEGIN(readability-identifier-naming)
extern "C" {
extern const char millrace_known_progress_begin[];
extern const char millrace_known_progress_end[];
}
// NOLINTEND(readability-identifier-naming)
asm(".pushsection .rodata\n"
    ".global millrace_known_progress_begin\n"
    ".global millrace_known_progress_end\n"
    "millrace_known_progress_begin:\n"
    ".incbin \"" MILLRACE_KNOWN_PROGRESS "\"\n"
    "millrace_known_progress_end:\n"
    ".popsection\n");

namespace millrace::placement {
namespace {

std::string_view take_until(std::string_view& text, char end) {
  const std::size_t found = std::min(text.find(end), text.size());
  const std::string_view part = text.substr(0, found);
  text.remove_prefix(std::min(found + 1, text.size()));
  return part;
}

}  // namespace

std::vector<KnownProgram> parse_known_programs(std::string_view text) {
  std::vector<KnownProgram> programs;
  while (!text.empty()) {
    std::string_view line = take_until(text, '\n');
    if (line.starts_with('#')) continue;
    KnownProgram program{.name = std::string(take_until(line, '\t')),
                         .pattern = std::string(take_until(line, '\t')),
                         .silencers = {}};
    if (program.name.empty() || program.pattern.empty() || line.empty()) continue;
    while (!line.empty())
      if (const auto word = take_until(line, ' '); word != "-") program.silencers.emplace_back(word);
    programs.push_back(std::move(program));
  }
  return programs;
}

const std::vector<KnownProgram>& known_programs() {
  static const std::vector<KnownProgram> programs = parse_known_programs(
      {millrace_known_progress_begin,
       static_cast<std::size_t>(millrace_known_progress_end - millrace_known_progress_begin)});
  return programs;
}

std::optional<std::string> known_progress(std::string_view file, const std::vector<std::string>& command) {
  const auto program = std::ranges::find(known_programs(), file, &KnownProgram::name);
  if (program == known_programs().end()) return std::nullopt;
  const bool silent = std::ranges::any_of(command, [&](const std::string& word) {
    return std::ranges::find(program->silencers, word) != program->silencers.end();
  });
  return silent ? std::nullopt : std::optional(program->pattern);
}

}  // namespace millrace::placement
