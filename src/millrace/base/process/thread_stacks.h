// Stack sizes of all threads, including those that libraries create.
#pragma once

#include "millrace/base/error/result.h"

namespace millrace {

// If `ulimit -s` is smaller than codecs need, raises the limit for the stack of the calling thread, which
// must be main()'s, and of all later threads. Libraries do not request a stack size, get the limit, and
// crash. Returns a usage error if the limit cannot be raised far enough. Child programs inherit the raised
// limit.
[[nodiscard]] Status make_room_for_stacks();

}  // namespace millrace
