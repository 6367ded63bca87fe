// What the inputs and outputs of a batch are called.
#pragma once

#include "millrace/base/overwrite.h"
#include "millrace/base/result.h"

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace millrace::run {

// The inputs that a word means: itself, or where no file has that name, the files that match it as a pattern
// of the shell (* ? [...]), sorted. Usage errors: nothing matches; a folder.
[[nodiscard]] Result<std::vector<std::string>> expand_input(const std::string& word);

// What stands for what in an output's name.
struct NamedInput {
  std::string input;
  std::size_t number = 1;  // of the job, from 1
  std::size_t jobs = 1;    // {index} has as many digits as this
};

// {stem}: the input's name without folder and last suffix; {name}: with that; {dir}: its folder; {index}: the
// number of the job; {{ and }}: braces. Usage error for anything else in braces.
[[nodiscard]] Result<std::string> output_name(std::string_view pattern, const NamedInput& named);

// The pattern that -o and --suffix mean together: either may be empty. A folder needs a suffix; without a
// folder, outputs go beside their inputs. Usage error without both.
[[nodiscard]] Result<std::string> output_pattern(const std::string& output, const std::string& suffix);

struct JobFiles {
  std::string input;
  std::string output;
};

// Before anything begins. Usage errors: two jobs have one output; an output is an input, be it of another
// job; standard output.
[[nodiscard]] Status check_distinct(std::span<const JobFiles> jobs);

}  // namespace millrace::run
