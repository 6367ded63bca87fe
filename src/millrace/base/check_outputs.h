// Checks a program's outputs before the work begins.
#pragma once

#include "millrace/base/overwrite.h"
#include "millrace/base/result.h"

#include <initializer_list>
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
// after hours, so this reports the problem early. Two outputs, or an output and the input, must not share a
// file or a standard stream; devices and pipes may be shared. Creates nothing and never waits.
[[nodiscard]] Status check_outputs(std::initializer_list<NamedPath> outputs, Overwrite overwrite,
                                   const NamedPath& input = {});

}  // namespace millrace
