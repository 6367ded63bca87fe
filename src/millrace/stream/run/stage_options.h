// Kind and StageOptions: how many items a stage works on at once, in which order, and whether it blocks.
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
  // The stage waits (for a disk, a network, a device) rather than computes. It then has threads of its own,
  // so that it does not hold up workers: one thread for a serial stage, up to `blocking_threads` for a
  // parallel one, created on demand.
  bool blocking = false;
  int blocking_threads = 8;
  // Maximum number of items in a parallel stage at once, for example because each takes much memory or a
  // device accepts only a few. Workers do other work in the meantime. 0: limited only by the threads.
  int limit = 0;
};

}  // namespace millrace::stream
