// LivingThread: a thread of a program, and its process.
#pragma once

#include <sys/types.h>

namespace millrace::intensity {

struct LivingThread {
  pid_t thread = 0;
  pid_t process = 0;
};

}  // namespace millrace::intensity
