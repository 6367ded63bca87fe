// Pipe: two ends of which one reads what is written to the other.
#pragma once

#include "millrace/base/descriptor.h"
#include "millrace/base/result.h"

namespace millrace {

struct Pipe {
  Descriptor read_end;
  Descriptor write_end;
};

// Closed in programs that this one executes.
[[nodiscard]] Result<Pipe> make_pipe();

}  // namespace millrace
