#include "millrace/base/file/check_outputs.h"

#include "millrace/base/descriptor/descriptor_name.h"
#include "millrace/base/file/output_file.h"

#include <filesystem>
#include <optional>
#include <system_error>
#include <unistd.h>

namespace millrace {
namespace {

namespace fs = std::filesystem;

// The stream of this process that an output refers to, if any.
std::optional<int> open_stream(const std::string& path) {
  return path == "-" ? STDOUT_FILENO : descriptor_named(path);
}

}  // namespace

bool is_same_file(const std::string& a, const std::string& b) {
  std::error_code missing;
  if (fs::equivalent(a, b, missing)) return !fs::is_other(fs::status(a, missing));
  // Neither file exists yet.
  const fs::path place = fs::weakly_canonical(fs::absolute(a, missing), missing);
  return !missing && !fs::exists(place, missing) &&
         place == fs::weakly_canonical(fs::absolute(b, missing), missing);
}

Status check_outputs(std::initializer_list<NamedPath> outputs, Overwrite overwrite,
                     std::span<const NamedPath> inputs) {
  for (const NamedPath* output = outputs.begin(); output != outputs.end(); ++output) {
    const auto& [role, path] = *output;
    if (path.empty()) continue;
    for (const NamedPath* other = outputs.begin(); other != output; ++other) {
      if (other->path.empty()) continue;
      if (const auto stream = open_stream(path); stream && stream == open_stream(other->path))
        return usage_error("{} cannot take both {} and {}; give one of them a file",
                           *stream == STDOUT_FILENO ? "standard output" : path, other->role, role);
      if (path != "-" && other->path != "-" && is_same_file(path, other->path))
        return usage_error("{}: is both {} and {}; give one of them another file", path, other->role, role);
    }
    if (path == "-") continue;
    for (const NamedPath& input : inputs)
      if (!input.path.empty() && input.path != "-" && is_same_file(path, input.path))
        return usage_error("{}: is both {} and {}; choose another output", path, input.role, role);
    if (Status checked = OutputFile::check(path, overwrite); !checked) return checked;
  }
  return {};
}

}  // namespace millrace
