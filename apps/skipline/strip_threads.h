// Runs one thread per strip.
#pragma once

#include "millrace/base/error/result.h"

#include <functional>

namespace millrace::skipline {

// Called by a new thread first, for example to set its affinity. May be empty.
using AtBirth = std::function<void(int strip)>;

// Calls work(0) .. work(strips-1), each on its own new thread, and returns when all have ended. Threads are
// created for each call because that is the paper's workload, in which threads are placed at creation. An
// exception becomes the error, that of the first strip if there are several. Failure if the system refuses a
// thread; the earlier threads finish first.
[[nodiscard]] Status for_each_strip(int strips, const std::function<void(int strip)>& work,
                                    const AtBirth& at_birth = {});

}  // namespace millrace::skipline
