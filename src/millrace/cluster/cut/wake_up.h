// WakeUp: ends the wait of a thread in poll(2).
#pragma once

#include "millrace/base/descriptor.h"

namespace millrace::cluster {

// One thread waits for its descriptor among others, any wakes it.
class WakeUp {
 public:
  WakeUp();

  // Can be read once somebody woke.
  [[nodiscard]] int descriptor() const { return event_.get(); }
  void wake() const;
  // By the one who waits, before it looks what there is to do.
  void clear() const;

 private:
  Descriptor event_;
};

}  // namespace millrace::cluster
