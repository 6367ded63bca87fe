#include "millrace/placement/apply/state_folder.h"

#include "millrace/base/file/private_folder.h"

#include <cstdlib>
#include <unistd.h>

#include <fmt/format.h>

namespace millrace::placement {
namespace {

constexpr const char* temporary = "/tmp";

constexpr const char* advice = "let its owner or root remove it, or set XDG_RUNTIME_DIR";

// True if only this user may add files to the folder or remove them.
bool is_ours_alone(const char* path) {
  const auto folder = open_private_folder(path, FolderUse::keep);
  return folder && folder->is_open() && access(path, W_OK) == 0;
}

std::filesystem::path usual_path() {
  const char* runtime = std::getenv("XDG_RUNTIME_DIR");  // NOLINT(concurrency-mt-unsafe): nothing sets it
  // `su` and `sudo -E` keep another user's variable.
  if (runtime != nullptr && runtime[0] == '/' && is_ours_alone(runtime))
    return std::filesystem::path(runtime) / "millrace";
  if (geteuid() == 0 && is_ours_alone("/run")) return "/run/millrace";
  return std::filesystem::path(temporary) / fmt::format("millrace-{}", geteuid());
}

}  // namespace

Result<StateFolder> StateFolder::open(const std::filesystem::path& path) {
  auto folder = open_private_folder(path, FolderUse::make);
  if (!folder) return failure("{}: it is not used; {}", folder.error().message, advice);
  return StateFolder(std::move(*folder), path);
}

Result<StateFolder> StateFolder::of_this_user() { return open(usual_path()); }

StateFolder::~StateFolder() {
  // Fails if others still use it.
  if (folder_.is_open()) rmdir(path_.c_str());
}

}  // namespace millrace::placement
