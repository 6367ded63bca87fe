#include "dedup/run/folder_stream.h"

#include "millrace/base/descriptor/pipe.h"
#include "millrace/base/error/system_reason.h"

#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <filesystem>
#include <spawn.h>
#include <string_view>
#include <system_error>
#include <unistd.h>
#include <utility>
#include <vector>

#include <sys/wait.h>

namespace millrace::dedup {
namespace {

namespace fs = std::filesystem;

// The environment without variables that change the behaviour of tar.
std::vector<char*> environment_of_tar() {
  std::vector<char*> kept;
  for (char** each = environ; *each != nullptr; ++each)
    if (!std::string_view(*each).starts_with("TAR_OPTIONS=")) kept.push_back(*each);
  kept.push_back(nullptr);
  return kept;
}

// Returns its process id, or 0 and errno.
std::pair<pid_t, int> start_tar(std::vector<std::string> words, int output) {
  std::vector<char*> pointers;
  for (std::string& word : words)
    pointers.push_back(word.data());
  pointers.push_back(nullptr);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&files, output, STDOUT_FILENO);
  // Default signals, so that tar ends when its reader is gone. This program ignores SIGPIPE.
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t usual;
  sigemptyset(&usual);
  sigaddset(&usual, SIGPIPE);
  sigaddset(&usual, SIGXFSZ);
  posix_spawnattr_setsigdefault(&attributes, &usual);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
  pid_t process = 0;
  const int error =
      posix_spawnp(&process, "tar", &files, &attributes, pointers.data(), environment_of_tar().data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  return {error == 0 ? process : 0, error};
}

}  // namespace

Result<std::unique_ptr<FolderStream>> FolderStream::open(const std::string& folder,
                                                         const std::stop_token& stop) {
  std::error_code error;
  const fs::path whole = fs::canonical(folder, error);
  if (error) return usage_error("'{}' cannot be opened ({})", folder, error.message());
  auto pipe = make_pipe();
  if (!pipe) return std::unexpected(pipe.error());
  const std::string name = whole.has_relative_path() ? whole.filename().string() : ".";
  const auto [process, reason] = start_tar({"tar", "--create", "--file=-", "--sort=name",
                                            "--directory=" + whole.parent_path().string(), "--", name},
                                           pipe->write_end.get());
  if (process == 0)
    return usage_error("'{}' is a folder, and tar, which reads it, cannot be started ({}); install tar",
                       folder, system_reason(reason));
  pipe->write_end.close();
  return std::unique_ptr<FolderStream>(new FolderStream(
      folder, std::make_unique<InputFile>(std::move(pipe->read_end), folder, stop), process));
}

FolderStream::~FolderStream() {
  bytes_.reset();
  if (process_ == 0) return;
  // Needed if it waits for a disk rather than for its reader.
  kill(process_, SIGTERM);
  static_cast<void>(wait());
}

int FolderStream::wait() {
  int status = 0;
  while (waitpid(process_, &status, 0) < 0 && errno == EINTR) {
  }
  process_ = 0;
  return status;
}

Status FolderStream::finish() {
  const int status = wait();
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return {};
  return failure("'{}' could not be read completely: tar ended with {} {}; see its messages above", folder_,
                 WIFEXITED(status) ? "code" : "signal",
                 WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
}

}  // namespace millrace::dedup
