// Processes frames according to a schedule, which can change between two frames.
#pragma once

#include "millrace/image/execute/prepared_schedule.h"
#include "millrace/image/execute/stage_report.h"
#include "millrace/image/kernel/kernel_library.h"
#include "millrace/image/layout/frame_layout.h"
#include "millrace/image/layout/schedule.h"
#include "millrace/machine/limits/usable_memory.h"
#include "millrace/machine/topology/topology.h"
#include "millrace/pool/shared_workers.h"
#include "millrace/pool/worker_pool.h"

#include <cstdint>
#include <list>
#include <map>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

namespace millrace::image {

// One executor per stream of frames. Must be used only by the thread that made the pool; the pool's workers
// do the work.
class Executor {
 public:
  // The pool, the library and the objects behind `machine` must outlive the executor. The machine provides
  // the CPU masks of affinity arrangements.
  Executor(pool::WorkerPool& pool, KernelLibrary& library, const machine::Topology& topology,
           const machine::CpuSet& usable);
  // For several executors that work at the same time on shared workers. Each must be used by one thread, any
  // thread. A schedule's thread count then only determines how finely work is divided; the workers decide how
  // many threads take part. Any affinity is replaced by `free`.
  Executor(pool::SharedWorkers& workers, KernelLibrary& library, const machine::Topology& topology,
           const machine::CpuSet& usable);
  // Unpins the workers.
  ~Executor();
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  // Sets the layout and schedule from the next frame on. Missing kernels are compiled in the background.
  // Until they are available, or permanently if they cannot be compiled, a stand-in runs: the same stages
  // unfused, and `tiled` instead of backward structures that exist only as one kernel. Returns a usage error,
  // and keeps the previous settings, if the schedule is impossible: more threads than the pool has, more
  // frames in flight than threads, too many stages for one kernel, too few PUs. Returns a failure if there is
  // not enough memory; then nothing is set.
  //
  // If the kernel refuses an affinity (EPERM, or a cpuset that shrank), that is not an error. The workers run
  // unpinned, in_use() reports this, refused() gives the reason, and the affinity is not requested again.
  [[nodiscard]] Status set(const FrameLayout& layout, const Schedule& schedule);

  // Changes only the schedule. The most recent schedules keep their memory, so switching back is almost free.
  // Returns an Error, and keeps the previous schedule, if a kernel cannot be compiled or there is not enough
  // memory.
  [[nodiscard]] Status use(const Schedule& schedule);

  // Changes only coefficients, from the next frame on. The layout must be for the same pipeline, frame format
  // and sizes, with other parameter values. Takes some microseconds and never compiles.
  void update(const FrameLayout& layout);

  // Waits until the schedule itself is in use. Returns an Error if a kernel cannot be compiled or the wait is
  // stopped.
  [[nodiscard]] Status await_kernels(const std::stop_token& stop = {});

  // Processes at least one frame, frames_in_flight of them in parallel. If there are more, a team that
  // finishes one takes the next.
  [[nodiscard]] Status run(std::span<const FrameTask> frames);

  // The schedule that is running: the one set, or its stand-in.
  [[nodiscard]] const Schedule& in_use() const { return in_use_; }
  [[nodiscard]] bool stand_in() const { return pending_.has_value() || unavailable_.has_value(); }
  // Whether a kernel in use will be replaced by a faster one that is being compiled.
  [[nodiscard]] bool interim() const { return !kept_.empty() && kept_.front().interim(); }
  [[nodiscard]] std::int64_t stand_in_frames() const { return stand_in_frames_; }
  [[nodiscard]] std::int64_t switches() const { return switches_; }

  // Affinities that the kernel has refused, with its reasons.
  [[nodiscard]] const std::map<machine::AffinityArrangement, std::string>& refused() const {
    return refused_;
  }

  // CPUs for the thread that reads and writes frames under the affinity in use. Empty if it may run anywhere.
  [[nodiscard]] const machine::CpuSet& io_cpus() const { return io_cpus_; }

  // Where sleeping shared workers are woken (pool/wake_elsewhere.h), from the next run() on.
  void wake(pool::WakeUp where) { wake_ = where; }

  // compute_seconds(): seconds that run() has spent on processing frames. stages(): the work of each stage.
  // Both are totals over all schedules used.
  [[nodiscard]] double compute_seconds() const;
  // Seconds that run() has waited for other streams that share the workers.
  [[nodiscard]] double waited_seconds() const;
  [[nodiscard]] std::vector<StageReport> stages() const;
  // Memory for intermediates of all schedules that keep theirs.
  [[nodiscard]] std::size_t bytes() const;

  // Memory limit for several frames in flight. Default: half of the memory available at the start.
  void allow_bytes(std::size_t most) { most_bytes_ = most; }

  // Times every n-th call of run() stage by stage; 0: none, 1: all.
  void time_stages_every(int n) { time_every_ = n; }

  // From the next run() on: when a stop is requested, run() ends soon with an Error of kind `interrupted`,
  // however large the frame is.
  void heed(std::stop_token stop) { stop_ = std::move(stop); }

  // Logs the kernel calls of the next run() only. The log must live until then.
  void record_next(CallLog* log) { log_ = log; }
  // Names for what is in use: by plane that is computed and by group, as in KernelCall.
  [[nodiscard]] std::vector<std::vector<GroupName>> group_names() const;

 private:
  // The incumbent, its challenger and the previous challenger: a search alternates between them.
  static constexpr std::size_t most_kept = 3;

  Executor(pool::WorkerPool* pool, pool::SharedWorkers* shared, KernelLibrary& library,
           const machine::Topology& topology, const machine::CpuSet& usable);

  [[nodiscard]] int workers() const { return pool_ != nullptr ? pool_->size() : shared_->size(); }
  [[nodiscard]] Status run_by_threads(std::span<const FrameTask> frames, const Watch& watch);
  [[nodiscard]] Status check(const Schedule& schedule) const;
  // The schedule, with affinity `free` if its own was refused before or pinning is impossible.
  [[nodiscard]] Schedule permitted(Schedule schedule) const;
  // Returns false if the kernel refuses the schedule's affinity; permitted() then excludes it.
  [[nodiscard]] Result<bool> bind(const Schedule& schedule);
  [[nodiscard]] Result<PreparedSchedule> prepare_stand_in(const FrameLayout& layout,
                                                          const Schedule& schedule);
  // Puts a schedule whose kernels are all available into use. Returns a failure, and keeps the previous one,
  // if there is not enough memory.
  [[nodiscard]] Status install(PreparedSchedule prepared);
  void drop_oldest();

  std::size_t most_bytes_ = machine::usable_memory() / 2;
  pool::WorkerPool* pool_;  // exactly one of the two is not null
  pool::SharedWorkers* shared_;
  pool::WakeUp wake_ = pool::WakeUp::anywhere;
  KernelLibrary& library_;
  const machine::Topology& topology_;
  const machine::CpuSet usable_;
  FrameLayout layout_;
  Schedule in_use_;
  std::list<PreparedSchedule> kept_;  // most recently used first; the first is in use
  std::optional<PreparedSchedule> pending_;
  std::optional<Error> unavailable_;  // reason why the stand-in runs permanently
  machine::AffinityArrangement bound_ = machine::AffinityArrangement::free;
  int bound_threads_ = 0;
  machine::CpuSet io_cpus_;
  std::map<machine::AffinityArrangement, std::string> refused_;
  StageReports retired_;
  std::int64_t compute_ns_ = 0;
  std::int64_t waited_ns_ = 0;
  std::int64_t runs_ = 0;
  std::int64_t stand_in_frames_ = 0;
  std::int64_t switches_ = 0;
  int time_every_ = 16;
  CallLog* log_ = nullptr;
  std::stop_token stop_;
};

}  // namespace millrace::image
