// What a stage is beside its function: how many items it may work on at once, in which order, and whether it
// waits for something outside the process.
#pragma once

namespace millrace::stream {

enum class Kind {
  parallel,             // any number of items at once, in any order
  serial_in_order,      // one item at a time, in the order of the source
  serial_as_they_come,  // one item at a time, in the order of arrival
};

// "parallel", "serial in order", "serial as they come": for messages and reports.
[[nodiscard]] constexpr const char* kind_name(Kind kind) {
  switch (kind) {
  case Kind::parallel:
    return "parallel";
  case Kind::serial_in_order:
    return "serial in order";
  case Kind::serial_as_they_come:
    return "serial as they come";
  }
  return "";
}

struct StageOptions {
  // The stage waits (for a disk, a network, a device) rather than computes. It then runs on threads of its
  // own, so that no worker stands still with it: one thread for a serial stage, up to `blocking_threads` for
  // a parallel one, made when they are needed.
  bool blocking = false;
  int blocking_threads = 8;
  // A parallel stage works on so many items at once at most, as where each takes much memory, or a device
  // takes so many; workers do something else meanwhile. 0: no limit but the threads.
  int limit = 0;
};

}  // namespace millrace::stream
