// Checks a program's outputs before the work begins.
#pragma once

#include "millrace/base/error/result.h"
#include "millrace/base/file/overwrite.h"

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

namespace millrace {

// A file named on the command line.
struct NamedPath {
  std::string_view role;  // the user's name for it: "OUT", "--json"
  std::string path;       // "-" for a standard stream; empty if not given
};

// Whether two paths, neither of them "-", name the same file, even if it does not exist yet. Always false for
// devices and pipes, because they accept any number of outputs.
[[nodiscard]] bool is_same_file(const std::string& a, const std::string& b);

// Returns a usage error if OutputFile::open() would refuse an output. Many programs open their output only
// after hours, so this reports the problem early. Two outputs must not share a file or a standard stream, and
// no output may be an input, even if it may be overwritten; devices and pipes may be shared. `inputs`: every
// file that the program reads, whatever its role. Creates nothing and never waits.
//
//   check_outputs({{"OUT", out}, {"--json", json}}, overwrite, {{"IN", in}, {"--policy", policy}});
[[nodiscard]] Status check_outputs(std::initializer_list<NamedPath> outputs, Overwrite overwrite,
                                   std::span<const NamedPath> inputs);
[[nodiscard]] inline Status check_outputs(std::initializer_list<NamedPath> outputs, Overwrite overwrite,
                                          std::initializer_list<NamedPath> inputs = {}) {
  return check_outputs(outputs, overwrite, std::span<const NamedPath>(inputs.begin(), inputs.size()));
}

}  // namespace millrace
