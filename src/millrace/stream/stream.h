// Stream: a built pipeline, ready to run.
#pragma once

#include "millrace/base/export.h"
#include "millrace/base/result.h"
#include "millrace/pool/team.h"
#include "millrace/stream/run/live_report.h"
#include "millrace/stream/run/run_options.h"
#include "millrace/stream/run/run_report.h"

#include <exception>
#include <memory>

namespace millrace::stream {

class LiveView;
class Program;

// How a run ended, and what it did until then.
struct Finished {
  // A stage that failed: the error names the stage and the item, the first in the order of the source if
  // several did. A stop: an error of kind interrupted.
  Status status;
  // Where status is an error: the same as the stage, or whoever refused the run, put it.
  Error cause;
  // Where a stage or the source threw: what. To be thrown again with std::rethrow_exception.
  std::exception_ptr exception;
  RunReport report;
};

// A run that goes on in a thread of its own. Movable; used by one thread at a time, but for stop(), is_over()
// and live().
class MILLRACE_EXPORT Running {
 public:
  Running(Running&&) noexcept;
  Running& operator=(Running&&) = delete;
  // Stops what still goes on, and waits for its end.
  ~Running();

  // The run ends as soon as the calls under way have returned, as by RunOptions::stop.
  void stop();
  [[nodiscard]] bool is_over() const;
  // Where it is now. As often as wanted: the run does not notice. Throws std::bad_alloc.
  [[nodiscard]] LiveReport live() const;
  // Waits for the end. Valid as long as this object.
  [[nodiscard]] const Finished& wait();

 private:
  friend class Stream;
  struct State;
  explicit Running(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
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
  // The same with a team that is not kept: run(pool->team()).
  [[nodiscard]] Finished run(pool::Team&& team, const RunOptions& options = {}) { return run(team, options); }
  // The same with workers of its own, as many as options.threads or, where that is 0, as the process may use.
  // To make them takes some 0.1 ms.
  [[nodiscard]] Finished run(const RunOptions& options = {});

  // Begins such a run in a thread of its own, and returns; see inlet.h for a source that is fed meanwhile.
  // The stream may be destroyed before it is over. Usage error while another run is under way, failure when
  // no thread is to be had.
  [[nodiscard]] Result<Running> start(const RunOptions& options = {});

 private:
  friend class Running;
  struct State;
  class Claim;
  [[nodiscard]] static Finished run_claimed(State& state, const RunOptions& options, LiveView* live);
  std::shared_ptr<State> state_;
};

}  // namespace millrace::stream
