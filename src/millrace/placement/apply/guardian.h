// Guardian: a small process that restores the threads of a program when millrace was killed before it could.
#pragma once

#include "millrace/base/descriptor.h"
#include "millrace/base/result.h"

#include <filesystem>

namespace millrace::placement {

// While it lives, the end of this process for any reason, SIGKILL included, makes the guardian restore by the
// journal and remove it. When the object is destroyed, the guardian just ends.
class Guardian {
 public:
  // Make it before any thread: the guardian is a fork of this process, in a session of its own so that
  // signals from the terminal or to the process group do not reach it. It holds no descriptor of this process
  // but one end of a pipe.
  [[nodiscard]] static Result<Guardian> start(const std::filesystem::path& journal);
  Guardian(Guardian&&) = default;
  Guardian& operator=(Guardian&&) = delete;
  ~Guardian();

 private:
  explicit Guardian(Descriptor alive) : alive_(std::move(alive)) {}

  // The guardian reads the other end: a word dismisses it, the end without one is this process's end.
  Descriptor alive_;
};

}  // namespace millrace::placement
