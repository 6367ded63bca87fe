// NewestTask: tells whether anybody at all was born.
#pragma once

#include "millrace/base/descriptor.h"

#include <optional>
#include <string_view>

#include <sys/types.h>

namespace millrace::placement {

// The number of the process or thread that was made last in this PID namespace or one within: while it stays,
// nobody was born. It may come again, after as many births as there are numbers.
//
// Used by one thread at a time.
class NewestTask {
 public:
  NewestTask();
  // Nothing where the kernel does not say.
  [[nodiscard]] std::optional<pid_t> read() const;

 private:
  Descriptor file_;
};

// Of what /proc/loadavg says.
[[nodiscard]] std::optional<pid_t> parse_newest_task(std::string_view text);

}  // namespace millrace::placement
