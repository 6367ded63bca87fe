// OutputTap: reads along what a program writes to one of its streams.
#pragma once

#include "millrace/base/descriptor.h"
#include "millrace/base/result.h"

#include <string>
#include <utility>

#include <sys/types.h>

namespace millrace::placement {

// A separate process between the program and the stream passes everything on, in order and at once. So the
// program can go on writing even if millrace is killed. If the stream is a terminal, the program gets a
// pseudo-terminal of the same size and settings.
//
// Not thread-safe.
class OutputTap {
 public:
  // stream: a descriptor of this process that can be written. Call this while the process is single-threaded.
  [[nodiscard]] static Result<OutputTap> on_stream(int stream);
  // Gives the program `descriptor`. What it writes there is read and goes nowhere else.
  [[nodiscard]] static Result<OutputTap> on_new_descriptor(int descriptor);

  // For LaunchSettings::descriptors.
  [[nodiscard]] std::pair<int, int> for_program() const { return {program_end_.get(), descriptor_}; }
  // Closes this process's copy of the program's end, once the program has its own.
  void launched() { program_end_.close(); }
  // Readable if something was written; negative at end of stream.
  [[nodiscard]] int descriptor() const { return ended_ ? -1 : copy_.get(); }
  // Returns what was written since the last call; "" if nothing was.
  [[nodiscard]] std::string take();
  // Waits until all output has been passed on, that is, until all copies of the program's end are closed.
  // Waits at most `seconds`, because descendants may go on writing.
  void finish(double seconds);

 private:
  OutputTap(Descriptor program_end, Descriptor copy, int descriptor)
      : program_end_(std::move(program_end)), copy_(std::move(copy)), descriptor_(descriptor) {}

  Descriptor program_end_;
  Descriptor copy_;
  int descriptor_;
  bool ended_ = false;
};

}  // namespace millrace::placement
