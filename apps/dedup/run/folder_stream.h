// FolderStream: a folder with all its contents as one stream, in the format of tar(1).
//
//   auto folder = FolderStream::open("/home/ann", stop);
//   ... read (*folder)->bytes() to its end ...
//   if (Status whole = (*folder)->finish(); !whole) return whole;
#pragma once

#include "millrace/base/error/result.h"
#include "millrace/base/file/input_file.h"

#include <memory>
#include <stop_token>
#include <string>

#include <sys/types.h>

namespace millrace::dedup {

// tar sorts by name, so that packing the same folder again gives the same stream. Its messages go to standard
// error.
class FolderStream {
 public:
  // Usage error if tar is not installed.
  [[nodiscard]] static Result<std::unique_ptr<FolderStream>> open(const std::string& folder,
                                                                  const std::stop_token& stop = {});
  ~FolderStream();
  FolderStream(const FolderStream&) = delete;
  FolderStream& operator=(const FolderStream&) = delete;

  [[nodiscard]] InputFile& bytes() { return *bytes_; }
  // Call it once everything was read. Failure if tar could not read the whole folder.
  [[nodiscard]] Status finish();

 private:
  FolderStream(std::string folder, std::unique_ptr<InputFile> bytes, pid_t process)
      : folder_(std::move(folder)), bytes_(std::move(bytes)), process_(process) {}
  // Exit status of tar, as from waitpid(2).
  [[nodiscard]] int wait();

  std::string folder_;
  std::unique_ptr<InputFile> bytes_;
  pid_t process_;  // 0 after waitpid()
};

}  // namespace millrace::dedup
