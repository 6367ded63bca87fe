// What is asked of a program's outputs before it begins.
#pragma once

#include "millrace/base/overwrite.h"
#include "millrace/base/result.h"

#include <initializer_list>
#include <string>
#include <string_view>

namespace millrace {

// A file of the command line.
struct NamedPath {
  std::string_view role;  // what the user calls it: "OUT", "--json"
  std::string path;       // "-" for a standard stream; empty where none is given
};

// Whether two names, none of them "-", are of one file, be it there yet or not. Devices and pipes are never
// the same: they take any number of outputs.
[[nodiscard]] bool is_same_file(const std::string& a, const std::string& b);

// Usage errors where OutputFile::open() would refuse an output, which many programs call only after hours,
// and where two outputs, or an output and the input, are one file or one standard stream. Devices and pipes
// take any number of outputs. Makes nothing and waits for nothing.
[[nodiscard]] Status check_outputs(std::initializer_list<NamedPath> outputs, Overwrite overwrite,
                                   const NamedPath& input = {});

}  // namespace millrace
