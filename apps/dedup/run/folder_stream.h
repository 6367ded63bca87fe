// FolderStream: a folder and all that is in it as one stream, as tar(1) writes it.
//
//   auto folder = FolderStream::open("/home/ann", stop);
//   ... read (*folder)->bytes() to its end ...
//   if (Status whole = (*folder)->finish(); !whole) return whole;
#pragma once

#include "millrace/base/input_file.h"
#include "millrace/base/result.h"

#include <memory>
#include <stop_token>
#include <string>

#include <sys/types.h>

namespace millrace::dedup {

// tar writes names in their order, so that the same folder packed again has the same stream. What it
// complains of goes to standard error.
class FolderStream {
 public:
  // Usage error where there is no tar.
  [[nodiscard]] static Result<std::unique_ptr<FolderStream>> open(const std::string& folder,
                                                                  const std::stop_token& stop = {});
  ~FolderStream();
  FolderStream(const FolderStream&) = delete;
  FolderStream& operator=(const FolderStream&) = delete;

  [[nodiscard]] InputFile& bytes() { return *bytes_; }
  // Once all was read: failure where tar could not read all of the folder.
  [[nodiscard]] Status finish();

 private:
  FolderStream(std::string folder, std::unique_ptr<InputFile> bytes, pid_t process)
      : folder_(std::move(folder)), bytes_(std::move(bytes)), process_(process) {}
  // How tar ended, as waitpid(2) has it.
  [[nodiscard]] int wait();

  std::string folder_;
  std::unique_ptr<InputFile> bytes_;
  pid_t process_;  // 0 once it was waited for
};

}  // namespace millrace::dedup
