// Plug-in: a user's own policy, built as a shared object against millrace_policy.h.
#pragma once

#include "millrace/base/error/result.h"
#include "millrace/placement/policy/policy.h"

#include <string>

namespace millrace::placement {

// Loads the plug-in into this process; it stays loaded until the last copy of the policy is destroyed. It
// runs with this process's rights on the threads that call the policy, one at a time. Returns a usage error
// if it cannot be loaded or has another version.
[[nodiscard]] Result<Policy> load_plug_in(const std::string& path);

}  // namespace millrace::placement
