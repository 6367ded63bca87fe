#include "millrace/base/companion_program.h"

#include "millrace/install_layout.h"

#include <bit>
#include <dlfcn.h>
#include <link.h>
#include <system_error>

#include <sys/auxv.h>

namespace millrace {
namespace {

namespace fs = std::filesystem;

// The shared library that this code is a part of; empty where that is the program itself.
fs::path own_library() {
  Dl_info info{};
  link_map* object = nullptr;
  const auto* const here = std::bit_cast<const void*>(&own_library);
  if (dladdr1(here, &info, std::bit_cast<void**>(&object), RTLD_DL_LINKMAP) == 0 || object == nullptr)
    return {};
  if (object->l_name[0] == '\0') return {};  // of the program
  std::error_code error;                     // leaves an empty path
  return fs::canonical(object->l_name, error);
}

// Also where /proc is not there: by the name that the kernel was told.
fs::path own_program() {
  std::error_code error;  // leaves an empty path, which cannot be started
  fs::path program = fs::read_symlink("/proc/self/exe", error);
  if (!error) return program;
  const auto* const told = std::bit_cast<const char*>(getauxval(AT_EXECFN));
  return told == nullptr ? fs::path() : fs::canonical(told, error);
}

}  // namespace

fs::path companion_program(std::string_view name) {
  const fs::path library = own_library();
  const fs::path folder = (library.empty() ? own_program() : library).parent_path();
  fs::path installed =
      // NOLINTNEXTLINE(bugprone-branch-clone): where both are the same is for the installation to say
      (folder / (library.empty() ? MILLRACE_PRIVATE_FROM_PROGRAMS : MILLRACE_PRIVATE_FROM_LIBRARIES) / name)
          .lexically_normal();
  std::error_code error;
  const fs::file_status status = fs::status(installed, error);
  const bool unknown = status.type() == fs::file_type::none;  // as in a folder that may not be entered
  return fs::exists(status) || unknown ? installed : folder / name;
}

}  // namespace millrace
