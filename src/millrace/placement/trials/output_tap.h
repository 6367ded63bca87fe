// OutputTap: reads along what a program writes to one of its streams.
#pragma once

#include "millrace/base/descriptor.h"
#include "millrace/base/result.h"

#include <string>
#include <utility>

#include <sys/types.h>

namespace millrace::placement {

// A process of its own stands between the program and the stream, and passes everything on, in order and as
// soon as it comes; so the program writes on even when millrace is killed. A terminal stays a terminal for
// the program: it is given a pseudo-terminal of the same size and settings.
//
// Used by one thread at a time.
class OutputTap {
 public:
  // stream: a descriptor of this process that can be written. To be called while this process has one thread.
  [[nodiscard]] static Result<OutputTap> on_stream(int stream);
  // The program is given `descriptor`; what it writes there is read and goes nowhere else.
  [[nodiscard]] static Result<OutputTap> on_new_descriptor(int descriptor);

  // For LaunchSettings::descriptors.
  [[nodiscard]] std::pair<int, int> for_program() const { return {program_end_.get(), descriptor_}; }
  // The program has its end now: this process gives its own up.
  void launched() { program_end_.close(); }
  // Readable when something was written; negative once nothing will be any more.
  [[nodiscard]] int descriptor() const { return ended_ ? -1 : copy_.get(); }
  // What was written since the last call; "" when nothing was.
  [[nodiscard]] std::string take();
  // Waits until all that the program wrote is passed on: until nobody holds the program's end, at most
  // `seconds` (descendants may go on writing).
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
