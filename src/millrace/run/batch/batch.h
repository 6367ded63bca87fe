// Batch: many runs in one process, several of them at the same time.
//
//   auto context = run::ExecutionContext::make_shared(*machine, machine->usable.worker_limit, {});
//   std::vector<run::BatchJob> jobs;
//   for (const std::string& name : names)
//     jobs.push_back({.source = run::file_source(name), .sink = run::file_sink(name + ".mkv"),
//                     .options = {.pipeline = pipeline}, .kind = "blur"});
//   run::Batch batch(**context, std::move(jobs), {});
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

// A run to do.
struct BatchJob {
  VideoSource source;
  VideoSink sink;
  VideoRunOptions options;  // without `stop`, keep_part, start_ns and on_progress
  std::string kind;         // jobs with the same pipeline, options and codecs: they cost the same per pixel
  double weight = 0;        // estimated pixels of all frames; the largest jobs begin first
};

struct BatchResult {
  bool begun = false;
  bool skipped = false;  // begun, but BatchOptions::before skipped it
  Status outcome;        // if the job was begun
  RunRecord record;      // if the job was begun
  double seconds = 0;    // from its beginning to its end, including opening files and waiting for memory
};

struct BatchProgress {
  struct Running {
    std::size_t job = 0;
    RunProgress progress;
  };
  std::size_t jobs = 0;
  std::size_t ended = 0;  // includes failed jobs
  std::size_t failed = 0;
  std::vector<Running> running;  // in the order of their beginning
};

struct BatchOptions {
  std::optional<int> side_by_side;  // concurrent jobs; by default chosen during the batch
  // Limit on the estimated memory of all running jobs. A single job begins in any case.
  std::uint64_t memory_bytes = std::numeric_limits<std::uint64_t>::max();
  // Whether records keep what was tried and why (`decisions`, `explanation`). For many jobs that can exceed
  // the memory.
  bool keep_decisions = true;
  std::stop_token stop;  // begins no more jobs and stops running ones, which then leave no output
  // Called several times a second by the thread that runs.
  std::function<void(const BatchProgress&)> on_progress;
  // Called on the job's own thread. `before`: before the job opens anything; return false to skip the job.
  // `after`: after the job succeeded. `ended`: at the end in any case. An Error fails the job.
  std::function<Result<bool>(std::size_t job)> before;
  std::function<Status(std::size_t job, const RunRecord& record)> after;
  std::function<void(std::size_t job)> ended;
};

// Used by one thread.
class Batch {
 public:
  // The execution context must be shared (ExecutionContext::make_shared()) and outlive the batch.
  Batch(ExecutionContext& context, std::vector<BatchJob> jobs, BatchOptions options);
  ~Batch();
  Batch(const Batch&) = delete;
  Batch& operator=(const Batch&) = delete;

  // Runs all jobs, once, and leaves nothing running. A failed job does not stop the others: see results().
  // Returns an Error if the batch was stopped (`interrupted`).
  [[nodiscard]] Status run();

  // Indexed by job; valid after run().
  [[nodiscard]] const std::vector<BatchResult>& results() const { return results_; }
  // The first few hundred decisions with their reasons, one line each; then what was learned.
  [[nodiscard]] std::vector<std::string> explain() const;
  // Highest number of jobs at work at a time. Jobs that wait for memory do not count.
  [[nodiscard]] int most_side_by_side() const { return most_side_by_side_; }

 private:
  struct Active;
  struct Kind {
    std::vector<std::size_t> waiting;  // the largest at the back
    double weight = 0;                 // sum over the waiting jobs
    Bottleneck bound = Bottleneck::none;
    std::uint64_t memory_bytes = 0;  // of the most recent job that knew
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

  ExecutionContext& context_;
  std::vector<BatchJob> jobs_;
  BatchOptions options_;
  std::vector<BatchResult> results_;
  std::vector<Kind> kinds_;
  std::vector<int> kind_of_;  // indexed by job
  BatchPolicy policy_;
  MemoryBudget memory_;
  std::vector<std::string> decisions_;
  std::size_t decisions_left_out_ = 0;
  std::int64_t start_ns_ = 0;
  std::int64_t accounted_ns_ = 0;
  std::int64_t changed_ns_ = 0;  // when a job last began or ended
  std::int64_t busy_since_ns_ = 0;
  std::optional<machine::CpuTimes> busy_times_;  // at busy_since_ns_
  std::optional<double> busy_;
  double weight_done_ = 0;
  std::size_t ended_ = 0;
  std::size_t failed_ = 0;
  int most_side_by_side_ = 0;
  bool stopped_ = false;

  std::mutex mutex_;  // guards `ended` and the pixel counts of active jobs
  std::condition_variable_any happened_;
  int events_ = 0;
  std::list<Active> active_;
};

}  // namespace millrace::run
