// Permission: checks, before anything is started, whether this process may do what is requested.
#pragma once

#include "millrace/base/error/result.h"
#include "millrace/machine/thread/scheduling_attributes.h"

#include <string>

#include <sys/types.h>

namespace millrace::placement {

// Checks whether it may set the class and slice, by trying on a thread of its own.
[[nodiscard]] Status may_give(const machine::SchedulingChange& change);

// Checks whether it may trace its children, as far as that is known beforehand.
[[nodiscard]] Status may_trace();

// Checks whether it may schedule the threads of another process. name: the process's name for messages.
[[nodiscard]] Status may_schedule(pid_t process, const std::string& name);

}  // namespace millrace::placement
