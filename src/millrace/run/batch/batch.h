// Batch: many runs in one process, some of them side by side.
//
//   auto workplace = run::Workplace::make_shared(*machine, machine->usable.worker_limit, {});
//   std::vector<run::BatchJob> jobs;
//   for (const std::string& name : names)
//     jobs.push_back({.source = run::file_source(name), .sink = run::file_sink(name + ".mkv"),
//                     .options = {.pipeline = pipeline}, .kind = "blur"});
//   run::Batch batch(**workplace, std::move(jobs), {});
//   const Status done = batch.run();
//   for (const run::BatchResult& result : batch.results()) ...
#pragma once

#include "millrace/machine/limits/cpu_times.h"
#include "millrace/run/batch/batch_policy.h"
#include "millrace/run/batch/memory_budget.h"
#include "millrace/run/video/video_run.h"

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <limits>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

namespace millrace::run {

// A run to be.
struct BatchJob {
  VideoSource source;
  VideoSink sink;
  VideoRunOptions options;  // without `stop`, keep_part, start_ns and on_progress
  std::string kind;         // jobs of one kind cost alike for each pixel: the same pipeline, options, codecs
  double weight = 0;        // pixels of all its frames, guessed; the largest jobs begin first
};

struct BatchResult {
  bool begun = false;
  bool skipped = false;  // begun, but there was nothing to do any more (BatchOptions::before)
  Status outcome;        // of a job that was begun
  RunRecord record;      // of such a one
  double seconds = 0;    // from its begin to its end, opening and waiting for memory included
};

struct BatchProgress {
  struct Running {
    std::size_t job = 0;
    RunProgress progress;
  };
  std::size_t jobs = 0;
  std::size_t ended = 0;  // failed ones included
  std::size_t failed = 0;
  std::vector<Running> running;  // in the order they were begun
};

struct BatchOptions {
  std::optional<int> side_by_side;  // jobs; chosen while they run where nothing is given
  // What jobs may take together, as far as it can be known; a single one begins in any case.
  std::uint64_t memory_bytes = std::numeric_limits<std::uint64_t>::max();
  // Whether the records of jobs keep what was tried and why (`decisions`, `explanation`), which may be more
  // than many jobs have memory for.
  bool keep_decisions = true;
  std::stop_token stop;  // no job begins any more, those that run are stopped and leave no output
  // Called several times a second by the thread that runs.
  std::function<void(const BatchProgress&)> on_progress;
  // Called by a thread of the job's own: before it opens anything, where false says that there is nothing to
  // do any more; when it is through and all was well; and in any case in the end. An Error is the job's.
  std::function<Result<bool>(std::size_t job)> before;
  std::function<Status(std::size_t job, const RunRecord& record)> after;
  std::function<void(std::size_t job)> ended;
};

// Used by one thread.
class Batch {
 public:
  // The workplace is shared (Workplace::make_shared()) and must outlive the batch.
  Batch(Workplace& workplace, std::vector<BatchJob> jobs, BatchOptions options);
  ~Batch();
  Batch(const Batch&) = delete;
  Batch& operator=(const Batch&) = delete;

  // All jobs, once. A job that fails does not keep others from running: which did is in results(). An Error
  // where it was stopped (kind `interrupted`). Nothing is left running behind it.
  [[nodiscard]] Status run();

  // By the number of the job; after run().
  [[nodiscard]] const std::vector<BatchResult>& results() const { return results_; }
  // What was decided and why, a line each, the first few hundred; then what was learnt.
  [[nodiscard]] std::vector<std::string> explain() const;
  // Of jobs that were at work; those that wait for memory are not.
  [[nodiscard]] int most_side_by_side() const { return most_side_by_side_; }

 private:
  struct Active;
  struct Kind {
    std::vector<std::size_t> waiting;  // the largest at the back
    double weight = 0;                 // of all that wait
    Bottleneck bound = Bottleneck::none;
    std::uint64_t memory_bytes = 0;  // of the one that last knew
  };

  void run_job(Active& active);
  [[nodiscard]] Status guarded_run(Active& active);
  void account();
  void observe(Active& active, bool ended);
  void collect();
  void begin_jobs();
  void begin(int kind, const BatchDecision& decision);
  void end(Active& active);
  [[nodiscard]] BatchView view() const;
  void measure_busy();
  void report();

  Workplace& workplace_;
  std::vector<BatchJob> jobs_;
  BatchOptions options_;
  std::vector<BatchResult> results_;
  std::vector<Kind> kinds_;
  std::vector<int> kind_of_;  // by job
  BatchPolicy policy_;
  MemoryBudget memory_;
  std::vector<std::string> decisions_;
  std::size_t decisions_left_out_ = 0;
  std::int64_t start_ns_ = 0;
  std::int64_t accounted_ns_ = 0;
  std::int64_t changed_ns_ = 0;  // when a job last began or ended
  std::int64_t busy_since_ns_ = 0;
  std::optional<machine::CpuTimes> busy_times_;  // then
  std::optional<double> busy_;
  double weight_done_ = 0;
  std::size_t ended_ = 0;
  std::size_t failed_ = 0;
  int most_side_by_side_ = 0;
  bool stopped_ = false;

  std::mutex mutex_;  // of `ended` and the pixels of active jobs
  std::condition_variable_any happened_;
  int events_ = 0;
  std::list<Active> active_;
};

}  // namespace millrace::run
