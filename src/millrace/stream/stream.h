// Stream: a built pipeline, ready to run.
#pragma once

#include "millrace/base/export.h"
#include "millrace/base/result.h"
#include "millrace/pool/team.h"
#include "millrace/stream/run/run_options.h"
#include "millrace/stream/run/run_report.h"

#include <memory>

namespace millrace::stream {

class Program;

// How a run ended, and what it did until then.
struct Finished {
  // A stage that failed: the error names the stage and the item, the first in the order of the source if
  // several did. A stop: an error of kind interrupted.
  Status status;
  // Where status is an error: the same as the stage, or whoever refused the run, put it.
  Error cause;
  RunReport report;
};

// Made by Flow::sink (flow.h). Owns the stages' functions. Movable; runs may follow each other, each calling
// the source until it ends; what state the functions keep is theirs.
class MILLRACE_EXPORT Stream {
 public:
  explicit Stream(std::unique_ptr<const Program> program);
  ~Stream();
  Stream(Stream&&) noexcept;
  Stream& operator=(Stream&&) noexcept;

  // Runs the stream to its end and returns. `team`: whose members compute with `stealing`, the calling
  // thread, its leader, among them; other strategies take from it no more than the number of threads. One run
  // of a stream at a time; the functions of its stages may run other streams, on other teams.
  //
  // When it returns, successful or not, every item has been destroyed and no thread of the run is left. On
  // failure every item before the failed one has been through all its stages, and none after it through any
  // stage in order at or behind the failed one. After a stop what a serial_in_order stage has seen is a
  // prefix of what it would have seen.
  //
  // Usage error, and no call of any stage, for options out of range and while another run of this stream is
  // under way, be it by another thread or around this one. Where there is no memory the run fails like any
  // other; if not even the item can be noted, its error says "out of memory" and names none, and as after a
  // stop what stages in order have seen is a prefix.
  [[nodiscard]] Finished run(pool::Team& team, const RunOptions& options = {});

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace millrace::stream
