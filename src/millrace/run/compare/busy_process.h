// A process that does nothing but keep one core busy: a neighbour to be measured against.
#pragma once

#include "millrace/base/result.h"

#include <utility>

#include <sys/types.h>

namespace millrace::run {

class BusyProcess {
 public:
  [[nodiscard]] static Result<BusyProcess> start();
  ~BusyProcess();
  BusyProcess(BusyProcess&& other) noexcept : pid_(std::exchange(other.pid_, -1)) {}
  BusyProcess& operator=(BusyProcess&&) = delete;

 private:
  explicit BusyProcess(pid_t pid) : pid_(pid) {}
  pid_t pid_;
};

}  // namespace millrace::run
