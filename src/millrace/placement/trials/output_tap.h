// OutputTap: reads along what a program writes to one of its streams.
#pragma once

#include "millrace/base/descriptor/descriptor.h"
#include "millrace/base/error/result.h"

#include <optional>
#include <string>
#include <utility>

#include <sys/types.h>

namespace millrace::placement {

// A separate process between the program and the stream passes everything on, in order and at once. So the
// program can go on writing even if millrace is killed. If the stream is a terminal, the program gets a
// pseudo-terminal of the same size and settings, for writing only. If standard output cannot be written, the
// process between ends, so that the program notices. If standard error cannot be written, that text is
// dropped.
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
  // Call this after the program has ended. Waits until everything that it wrote has been passed on, even if
  // its descendants go on writing. Fails if output was lost. Returns nothing, and can be called again, if
  // `interrupt` is readable first.
  [[nodiscard]] std::optional<Status> finish(int interrupt);

 private:
  OutputTap(Descriptor program_end, Descriptor copy, Descriptor relay, int descriptor)
      : program_end_(std::move(program_end)), copy_(std::move(copy)), relay_(std::move(relay)),
        descriptor_(descriptor) {}

  Descriptor program_end_;
  Descriptor copy_;
  Descriptor relay_;  // a socket to the process between, if there is one
  int descriptor_;
  bool asked_ = false;
  bool ended_ = false;
};

}  // namespace millrace::placement
