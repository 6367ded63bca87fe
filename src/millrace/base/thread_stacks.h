// Room for the stacks of threads, also of those that libraries make.
#pragma once

#include "millrace/base/result.h"

namespace millrace {

// Gives the calling thread's stack, which is to be main()'s, and those of threads made from now on what
// codecs need where `ulimit -s` is smaller: libraries do not ask for a size, get what the limit says, and
// crash. Usage error where the limit cannot be raised so far. Programs that are started later find the raised
// limit.
[[nodiscard]] Status make_room_for_stacks();

}  // namespace millrace
