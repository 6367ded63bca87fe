#include "millrace/placement/program/interactive_shell.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <filesystem>
#include <string_view>

namespace millrace::placement {
namespace {

constexpr std::array<std::string_view, 11> shells = {"sh",   "bash", "rbash", "dash", "ash", "zsh",
                                                     "mksh", "ksh",  "fish",  "csh",  "tcsh"};

// Options with a value in the next word.
bool takes_next_word(std::string_view option) {
  if (option.starts_with("--")) return option == "--rcfile" || option == "--init-file";
  return option.ends_with('o') || option.ends_with('O');
}

}  // namespace

bool is_interactive_shell(const std::vector<std::string>& command, bool reads_terminal) {
  if (command.empty()) return false;
  const std::string name = std::filesystem::path(command.front()).filename().string();
  if (std::ranges::find(shells, name) == shells.end()) return false;
  bool has_script = false;
  bool reads_input = false;
  for (std::size_t i = 1; i < command.size(); ++i) {
    const std::string_view word = command[i];
    if (word == "-" || word == "--" || !(word.starts_with('-') || word.starts_with('+'))) {
      const bool ends_options = word == "-" || word == "--";
      has_script = has_script || !ends_options || i + 1 < command.size();
      break;
    }
    const bool is_short = !word.starts_with("--");
    if (word == "--interactive" || (is_short && word.contains('i'))) return true;
    reads_input = reads_input || (is_short && word.contains('s'));
    has_script = has_script || word.starts_with("--command") || (is_short && word.contains('c'));
    if (takes_next_word(word)) ++i;
  }
  return reads_terminal && (reads_input || !has_script);
}

}  // namespace millrace::placement
