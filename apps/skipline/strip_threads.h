// One thread for each strip.
#pragma once

#include "millrace/base/result.h"

#include <functional>

namespace millrace::skipline {

// What a thread does first of all, on itself: where it is to run, for instance. May be empty.
using AtBirth = std::function<void(int strip)>;

// Calls work(0) .. work(strips-1), each on a thread made for it, and returns when all have ended. The threads
// are made anew for each call: that is the workload of the paper, whose threads are placed at their birth. An
// exception in one becomes the error, that of the first strip if there are several. Failure when the system
// refuses a thread; those made before end first.
[[nodiscard]] Status for_each_strip(int strips, const std::function<void(int strip)>& work,
                                    const AtBirth& at_birth = {});

}  // namespace millrace::skipline
