// WakeUp: interrupts a thread's wait in poll(2).
#pragma once

#include "millrace/base/descriptor/descriptor.h"

namespace millrace::cluster {

// One thread polls the descriptor together with others. Any thread may wake it.
class WakeUp {
 public:
  WakeUp();

  // Becomes readable after wake().
  [[nodiscard]] int descriptor() const { return event_.get(); }
  void wake() const;
  // Called by the waiting thread before it checks for work.
  void clear() const;

 private:
  Descriptor event_;
};

}  // namespace millrace::cluster
