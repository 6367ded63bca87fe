#include "millrace/base/process/companion_program.h"

#include "millrace/install_layout.h"

#include <bit>
#include <dlfcn.h>
#include <link.h>
#include <optional>
#include <system_error>

#include <sys/auxv.h>

namespace millrace {
namespace {

namespace fs = std::filesystem;

// The shared library that contains this code: an empty path if its location is unknown, nothing if the code
// is part of the program itself.
std::optional<fs::path> own_library() {
  Dl_info info{};
  link_map* object = nullptr;
  const auto* const here = std::bit_cast<const void*>(&own_library);
  if (dladdr1(here, &info, std::bit_cast<void**>(&object), RTLD_DL_LINKMAP) == 0 || object == nullptr ||
      object->l_name[0] == '\0')
    return std::nullopt;
  std::error_code error;
  return fs::canonical(object->l_name, error);
}

// Falls back to the name in the auxiliary vector if /proc is not mounted.
fs::path own_program() {
  std::error_code error;  // leaves an empty path
  fs::path program = fs::read_symlink("/proc/self/exe", error);
  if (!error) return program;
  const auto* const told = std::bit_cast<const char*>(getauxval(AT_EXECFN));
  return told == nullptr ? fs::path() : fs::canonical(told, error);
}

}  // namespace

fs::path companion_program(std::string_view name) {
  const std::optional<fs::path> library = own_library();
  const fs::path folder = (library ? *library : own_program()).parent_path();
  if (folder.empty()) return {};  // do not search the current folder
  fs::path installed =
      // NOLINTNEXTLINE(bugprone-branch-clone): the installation decides whether both are equal
      (folder / (library ? MILLRACE_PRIVATE_FROM_LIBRARIES : MILLRACE_PRIVATE_FROM_PROGRAMS) / name)
          .lexically_normal();
  std::error_code error;
  const fs::file_status status = fs::status(installed, error);
  const bool unknown = status.type() == fs::file_type::none;  // as in a folder without access
  return fs::exists(status) || unknown ? installed : folder / name;
}

bool in_shared_library() { return own_library().has_value(); }

std::vector<fs::path> companion_library_folders() {
  const std::optional<fs::path> library = own_library();
  const fs::path folder = (library ? *library : own_program()).parent_path();
  if (folder.empty()) return {};  // do not search the current folder
  if (library) return {(folder / MILLRACE_PRIVATE_LIBRARIES_FROM_LIBRARIES).lexically_normal(), folder};
  return {(folder / MILLRACE_PRIVATE_LIBRARIES_FROM_PRIVATE_PROGRAMS).lexically_normal(),
          (folder / MILLRACE_PRIVATE_LIBRARIES_FROM_PROGRAMS).lexically_normal(), folder};
}

}  // namespace millrace
