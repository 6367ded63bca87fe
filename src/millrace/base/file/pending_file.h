// PendingFile: a file that gets its name only when it is complete.
#pragma once

#include "millrace/base/descriptor/descriptor.h"

#include <expected>
#include <filesystem>
#include <optional>
#include <string_view>

namespace millrace {

// How the incomplete file is stored in the target's folder.
enum class Pending {
  unnamed,  // O_TMPFILE if the file system supports it, so that even SIGKILL leaves nothing; else `named`
  // As ".NAME.N.part". After SIGKILL it remains until the next file for the same target is created.
  named,
};

// Open for reading and writing. Without publish() the file is removed.
class PendingFile {
 public:
  // Creates an empty file for `target`, whose folder must exist. Returns the error number on failure.
  [[nodiscard]] static std::expected<PendingFile, int> create(const std::filesystem::path& target,
                                                              Pending how = Pending::unnamed);
  PendingFile(PendingFile&& other) noexcept;
  PendingFile& operator=(PendingFile&&) = delete;
  ~PendingFile();

  // Whether this name could be that of a file that was never completed.
  [[nodiscard]] static bool is_name_of_incomplete(std::string_view name);

  [[nodiscard]] int get() const { return descriptor_.get(); }

  // Gives the file the target's name atomically: readers see either the old file or the complete new one.
  // Returns 0 or the error number. EEXIST: the target exists and `replace` is false. Other errors include
  // data that could not be stored.
  [[nodiscard]] int publish(bool replace);

  // The fallback if publish() fails: uses the first free name similar to the target's ("out-1.mkv" for
  // "out.mkv") and returns it. Returns nothing if that fails too.
  [[nodiscard]] std::optional<std::filesystem::path> publish_beside();

  // Turns it into a file that never gets a name and is deleted when the descriptor is closed.
  [[nodiscard]] Descriptor without_name() &&;

 private:
  explicit PendingFile(std::filesystem::path target) : target_(std::move(target)) {}
  // Tries temporary names until take() returns 0, which means the name was free or abandoned. Returns 0 or
  // the error number.
  template <class Take> [[nodiscard]] int take_temporary_name(const Take& take);
  void drop_temporary_name();
  // Returns 0 or the error number; EEXIST if the name is taken.
  [[nodiscard]] int take_free_name(const std::filesystem::path& name);
  [[nodiscard]] int rename_to(const std::filesystem::path& name);

  Descriptor descriptor_;
  std::filesystem::path target_;
  std::filesystem::path temporary_;  // empty if the file has no temporary name
};

}  // namespace millrace
