// Names of the inputs and outputs of a batch.
#pragma once

#include "millrace/base/error/result.h"
#include "millrace/base/file/check_outputs.h"
#include "millrace/base/file/overwrite.h"

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace millrace::run {

// Expands a word: the file of that name if it exists, else the files that match it as a shell pattern (* ?
// [...]), sorted. Usage error if nothing matches, or for a folder.
[[nodiscard]] Result<std::vector<std::string>> expand_input(const std::string& word);

// Values for the placeholders of an output name.
struct NamedInput {
  std::string input;
  std::size_t number = 1;  // of the job, from 1
  std::size_t jobs = 1;    // {index} has as many digits as this number
};

// {stem}: name of the input without folder and last suffix; {name}: with the suffix; {dir}: its folder;
// {index}: number of the job; {{ and }}: braces. Usage error for anything else in braces.
[[nodiscard]] Result<std::string> output_name(std::string_view pattern, const NamedInput& named);

// Combines -o and --suffix, either of which may be empty, into one pattern. A folder needs a suffix. Without
// a folder, outputs go next to their inputs. Usage error if both are empty.
[[nodiscard]] Result<std::string> output_pattern(const std::string& output, const std::string& suffix);

struct JobFiles {
  std::string input;
  std::string output;
};

// Call before any job begins. Usage error if two jobs have the same output, if an output is the input of any
// job or one of `also_read`, or for standard output.
[[nodiscard]] Status check_distinct(std::span<const JobFiles> jobs,
                                    std::span<const NamedPath> also_read = {});

}  // namespace millrace::run
