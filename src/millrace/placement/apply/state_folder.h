// StateFolder: the folder for what later processes need to undo a run. Other users cannot reach it.
#pragma once

#include "millrace/base/descriptor/descriptor.h"
#include "millrace/base/error/result.h"

#include <filesystem>
#include <utility>

namespace millrace::placement {

// A folder of this user that no other user may read or write. It is held by descriptor: if its name is reused
// later, this folder is still the one used. The path to it is checked too (see open_private_folder()). A
// folder of another user is never used, not even by root, because its content cannot be trusted.
class StateFolder {
 public:
  // Opens millrace/ under $XDG_RUNTIME_DIR if that belongs to this user alone; otherwise /run/millrace for
  // root and /tmp/millrace-UID for others. It is created if missing. Fails if it cannot be made or used, for
  // example because another user owns that name in /tmp: a later process would not find any other folder.
  [[nodiscard]] static Result<StateFolder> of_this_user();
  // Opens the folder with this name, and creates it if missing. Fails with the reason if it is not this
  // user's.
  [[nodiscard]] static Result<StateFolder> open(const std::filesystem::path& path);

  StateFolder(StateFolder&&) noexcept = default;
  StateFolder& operator=(StateFolder&&) = delete;
  void swap(StateFolder& other) noexcept {
    std::swap(folder_, other.folder_);
    path_.swap(other.path_);
  }
  // Removes the folder if it is empty.
  ~StateFolder();

  [[nodiscard]] int descriptor() const { return folder_.get(); }
  // For messages.
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  StateFolder(Descriptor folder, std::filesystem::path path)
      : folder_(std::move(folder)), path_(std::move(path)) {}

  Descriptor folder_;
  std::filesystem::path path_;
};

}  // namespace millrace::placement
