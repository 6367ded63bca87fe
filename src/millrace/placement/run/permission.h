// Permission: whether this process may do to threads what is asked for, found out before anything is started.
#pragma once

#include "millrace/base/result.h"
#include "millrace/machine/thread/scheduling_attributes.h"

#include <string>

#include <sys/types.h>

namespace millrace::placement {

// Whether it may give the class and slice, tried on a thread of its own.
[[nodiscard]] Status may_give(const machine::SchedulingChange& change);

// Whether it may trace the children that it makes, as far as that is known beforehand.
[[nodiscard]] Status may_trace();

// Whether it may schedule the threads of another process, which is called `name`.
[[nodiscard]] Status may_schedule(pid_t process, const std::string& name);

}  // namespace millrace::placement
