// PendingFile: a file that gets its name when it is complete.
#pragma once

#include "millrace/base/descriptor.h"

#include <expected>
#include <filesystem>
#include <optional>
#include <string_view>

namespace millrace {

// How an incomplete file is kept in the folder of its target.
enum class Pending {
  unnamed,  // without a name where the file system can (O_TMPFILE): even SIGKILL leaves nothing; else named
  // As ".NAME.N.part", which SIGKILL leaves behind until a file for the same target is made again.
  named,
};

// Open for reading and writing. Without publish() nothing of it is left.
class PendingFile {
 public:
  // An empty file for `target`, whose folder exists; the error number where there can be none.
  [[nodiscard]] static std::expected<PendingFile, int> create(const std::filesystem::path& target,
                                                              Pending how = Pending::unnamed);
  PendingFile(PendingFile&& other) noexcept;
  PendingFile& operator=(PendingFile&&) = delete;
  ~PendingFile();

  // Whether a file of this name may be one that never became complete.
  [[nodiscard]] static bool is_name_of_incomplete(std::string_view name);

  [[nodiscard]] int get() const { return descriptor_.get(); }

  // Gives it the target's name in one step, so that whoever looks finds what was there before or all of this.
  // 0, or the error number: EEXIST where the target exists and is not to be replaced, others also where what
  // was written could not be stored.
  [[nodiscard]] int publish(bool replace);

  // Where publish() was refused: the same under the first free name like the target's, which is returned:
  // "out-1.mkv" for "out.mkv". Nothing where that is refused too.
  [[nodiscard]] std::optional<std::filesystem::path> publish_beside();

  // Makes of it a file that never has a name and ends with the descriptor.
  [[nodiscard]] Descriptor without_name() &&;

 private:
  explicit PendingFile(std::filesystem::path target) : target_(std::move(target)) {}
  // Takes the first name that is free, or nobody's any more, for which take() then gives 0; else the error
  // number.
  template <class Take> [[nodiscard]] int take_temporary_name(const Take& take);
  void drop_temporary_name();
  // 0 or the error number; EEXIST where the name is not free.
  [[nodiscard]] int take_free_name(const std::filesystem::path& name);
  [[nodiscard]] int rename_to(const std::filesystem::path& name);

  Descriptor descriptor_;
  std::filesystem::path target_;
  std::filesystem::path temporary_;  // empty while it has none
};

}  // namespace millrace
