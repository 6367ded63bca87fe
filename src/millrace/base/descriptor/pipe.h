// Pipe: both ends of a pipe(2).
#pragma once

#include "millrace/base/descriptor/descriptor.h"
#include "millrace/base/error/result.h"

namespace millrace {

struct Pipe {
  Descriptor read_end;
  Descriptor write_end;
};

// Both ends are close-on-exec.
[[nodiscard]] Result<Pipe> make_pipe();

}  // namespace millrace
