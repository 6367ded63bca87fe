// StateFolder: where a run keeps what others must be able to undo, out of reach of other users.
#pragma once

#include "millrace/base/descriptor.h"
#include "millrace/base/result.h"

#include <filesystem>
#include <string>
#include <utility>

namespace millrace::placement {

// A folder of this user that nobody else may write or read, held by descriptor: whatever is put under its
// name later, this one is used. What leads there is judged too (see open_private_folder()). A folder of
// another user is never used, by root neither: what lies there is that user's word.
class StateFolder {
 public:
  // millrace/ under $XDG_RUNTIME_DIR where that is this user's own, else, for root, under /run, else
  // /tmp/millrace-UID. Made where it is missing. Where that name in /tmp is somebody else's, a new one with a
  // name that nobody can guess; refused() tells of it. Failure where none can be made.
  [[nodiscard]] static Result<StateFolder> of_this_user();
  // A named one; made where it is missing. Failure, naming the reason, where it is not this user's.
  [[nodiscard]] static Result<StateFolder> open(const std::filesystem::path& path);

  StateFolder(StateFolder&&) noexcept = default;
  StateFolder& operator=(StateFolder&&) = delete;
  void swap(StateFolder& other) noexcept {
    std::swap(folder_, other.folder_);
    path_.swap(other.path_);
    refused_.swap(other.refused_);
  }
  // The folder goes when it is empty.
  ~StateFolder();

  [[nodiscard]] int descriptor() const { return folder_.get(); }
  // For messages.
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  // Why the usual one is not used, in one line; "" where it is.
  [[nodiscard]] const std::string& refused() const { return refused_; }

 private:
  StateFolder(Descriptor folder, std::filesystem::path path)
      : folder_(std::move(folder)), path_(std::move(path)) {}

  Descriptor folder_;
  std::filesystem::path path_;
  std::string refused_;
};

}  // namespace millrace::placement
