// Plug-in: a policy that a user has built as a shared object against millrace_policy.h.
#pragma once

#include "millrace/base/result.h"
#include "millrace/placement/policy/policy.h"

#include <string>

namespace millrace::placement {

// Loads it into this process, where it stays as long as the policy or a copy of it lives. It runs with this
// process's rights, on the threads that call the policy, one at a time. Usage error when it cannot be loaded
// or is of another version.
[[nodiscard]] Result<Policy> load_plug_in(const std::string& path);

}  // namespace millrace::placement
