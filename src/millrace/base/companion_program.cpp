#include "millrace/base/companion_program.h"

#include "millrace/install_layout.h"

#include <bit>
#include <dlfcn.h>
#include <link.h>

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
  return object->l_name;  // "" of the program
}

}  // namespace

fs::path companion_program(std::string_view name) {
  std::error_code error;  // leaves an empty path, which cannot be started
  const fs::path library = own_library();
  const fs::path folder =
      (library.empty() ? fs::read_symlink("/proc/self/exe", error) : fs::canonical(library, error))
          .parent_path();
  fs::path beside = folder / name;
  if (fs::exists(beside, error)) return beside;
  fs::path installed =
      // NOLINTNEXTLINE(bugprone-branch-clone): where both are the same is for the installation to say
      (folder / (library.empty() ? MILLRACE_PRIVATE_FROM_PROGRAMS : MILLRACE_PRIVATE_FROM_LIBRARIES) / name)
          .lexically_normal();
  return fs::exists(installed, error) ? installed : beside;
}

}  // namespace millrace
