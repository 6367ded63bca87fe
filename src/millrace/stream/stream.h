// Stream: a built pipeline, ready to run.
#pragma once

#include "millrace/base/error/export.h"
#include "millrace/base/error/result.h"
#include "millrace/pool/team.h"
#include "millrace/stream/run/live_report.h"
#include "millrace/stream/run/run_options.h"
#include "millrace/stream/run/run_report.h"

#include <exception>
#include <memory>

namespace millrace::stream {

class LiveView;
class Program;

// The outcome of a run and its report.
struct Finished {
  // If a stage failed, the error names the stage and the item. If several items failed, it names the first in
  // source order. After a stop, the error has the kind interrupted.
  Status status;
  // The error as the stage, or the check that refused the run, reported it. Set only if status is an error.
  Error cause;
  // The exception that a stage or the source threw, if any. Throw it again with std::rethrow_exception.
  std::exception_ptr exception;
  RunReport report;
};

// A run in progress on a thread of its own. Movable. Only stop(), is_over() and live() may be called from
// several threads at once.
class MILLRACE_EXPORT Running {
 public:
  Running(Running&&) noexcept;
  Running& operator=(Running&&) = delete;
  // Stops the run if it is still in progress, and waits for its end.
  ~Running();

  // Ends the run when the calls under way have returned, like RunOptions::stop.
  void stop();
  [[nodiscard]] bool is_over() const;
  // A snapshot of the run's progress. Costs the run nothing, however often it is called. Throws
  // std::bad_alloc.
  [[nodiscard]] LiveReport live() const;
  // Waits for the end. The result is valid as long as this object.
  [[nodiscard]] const Finished& wait();

 private:
  friend class Stream;
  struct State;
  explicit Running(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// Created by Flow::sink (flow.h). Owns the stages' functions. Movable. A stream can run several times, and
// each run calls the source until it ends. Functions keep their own state between runs.
class MILLRACE_EXPORT Stream {
 public:
  explicit Stream(std::unique_ptr<const Program> program);
  ~Stream();
  Stream(Stream&&) noexcept;
  Stream& operator=(Stream&&) noexcept;

  // Runs the stream to its end and returns. With `stealing`, the members of `team` compute, including the
  // calling thread as its leader. Other strategies only use the team's thread count. A stream can only have
  // one run at a time. The functions of its stages may run other streams on other teams.
  //
  // When it returns, whether it succeeded or failed, every item has been destroyed and all threads of the run
  // have exited. On failure, every item before the failed one has been through all its stages. No item after
  // it has been through an in-order stage at or after the one that failed. After a stop, a serial_in_order
  // stage has seen a prefix of what it would have seen.
  //
  // Returns a usage error, without calling any stage, if an option is out of range or if another run of this
  // stream is in progress, on another thread or in an enclosing call. If memory runs out, the run fails like
  // any other. If there is not even enough memory to record the item, the error says "out of memory" without
  // naming an item, and in-order stages have seen a prefix, as after a stop.
  [[nodiscard]] Finished run(pool::Team& team, const RunOptions& options = {});
  // The same for a temporary team: run(pool->team()).
  [[nodiscard]] Finished run(pool::Team&& team, const RunOptions& options = {}) { return run(team, options); }
  // The same with workers of its own: options.threads of them, or as many as the process may use if that is
  // 0. Creating them takes about 0.1 ms.
  [[nodiscard]] Finished run(const RunOptions& options = {});

  // Starts such a run on a thread of its own and returns. See inlet.h for a source that is fed during the
  // run. The stream may be destroyed before the run is over. Returns a usage error if another run is in
  // progress, and a failure if the system refuses a thread.
  [[nodiscard]] Result<Running> start(const RunOptions& options = {});

 private:
  friend class Running;
  struct State;
  class Claim;
  [[nodiscard]] static Finished run_claimed(State& state, const RunOptions& options, LiveView* live);
  std::shared_ptr<State> state_;
};

}  // namespace millrace::stream
