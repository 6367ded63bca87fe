#include "millrace/base/descriptor/pipe.h"

#include "millrace/base/error/system_reason.h"

#include <array>
#include <cerrno>
#include <fcntl.h>
#include <unistd.h>

namespace millrace {

Result<Pipe> make_pipe() {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return failure("cannot make a pipe: {}", system_reason(errno));
  return Pipe{Descriptor::owned(ends[0]), Descriptor::owned(ends[1])};
}

}  // namespace millrace
