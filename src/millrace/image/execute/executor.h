// The executor: processes frames by a schedule, and changes the schedule between two frames.
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

// One for each stream of frames. Used by one thread, the one that made the pool; the pool's workers do the
// work.
class Executor {
 public:
  // Pool, library and the values behind the machine must outlive the executor. The machine is asked for the
  // masks of an affinity arrangement.
  Executor(pool::WorkerPool& pool, KernelLibrary& library, const machine::Topology& topology,
           const machine::CpuSet& usable);
  // One of several at work at the same time, each used by one thread, which may be any. What a schedule says
  // of threads is then how finely work is divided; how many there are to do it is up to the workers. No
  // affinity but `free`, which takes the place of any other.
  Executor(pool::SharedWorkers& workers, KernelLibrary& library, const machine::Topology& topology,
           const machine::CpuSet& usable);
  // Frees the workers from any binding.
  ~Executor();
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  // Sets what is computed and how, from the next frame on. Kernels that have to be compiled first are
  // compiled in the background; until they are there, and for good where they cannot be had, a stand-in runs:
  // the same stages, not fused, and `tiled` in the place of the backward structures that exist only as one
  // kernel. Usage error where the schedule is impossible, and what was set before stays in use: more threads
  // than the pool has, more frames in flight than threads, too many stages for one kernel, too few PUs.
  // Failure where there is no memory; then nothing is set.
  //
  // An affinity that the kernel refuses here and now (EPERM, a cpuset that shrank) is no error: the workers
  // go on unbound, in_use() says so, refused() says why, and it is not asked for again.
  [[nodiscard]] Status set(const FrameLayout& layout, const Schedule& schedule);

  // Changes the schedule only. The last few schedules keep their memory, so that going back costs next to
  // nothing. An Error where a kernel cannot be compiled or there is no memory, and what was used before stays
  // in use.
  [[nodiscard]] Status use(const Schedule& schedule);

  // Changes the numbers only, from the next frame on: a layout of the same pipeline, frame format and sizes
  // with other values of parameters. Costs some microseconds, never a compilation.
  void update(const FrameLayout& layout);

  // Waits until the schedule itself is in use. An Error where a kernel cannot be compiled, and where the wait
  // is stopped.
  [[nodiscard]] Status await_kernels(const std::stop_token& stop = {});

  // Processes frames, at least one, frames_in_flight of them side by side. Of more than that, whoever is done
  // with one takes the next.
  [[nodiscard]] Status run(std::span<const FrameTask> frames);

  // What runs now: the schedule set, or its stand-in.
  [[nodiscard]] const Schedule& in_use() const { return in_use_; }
  [[nodiscard]] bool stand_in() const { return pending_.has_value() || unavailable_.has_value(); }
  // Whether what runs now has a kernel that is slower than the one which is being compiled.
  [[nodiscard]] bool interim() const { return !kept_.empty() && kept_.front().interim(); }
  [[nodiscard]] std::int64_t stand_in_frames() const { return stand_in_frames_; }
  [[nodiscard]] std::int64_t switches() const { return switches_; }

  // The affinities that the kernel has refused, and what it said.
  [[nodiscard]] const std::map<machine::AffinityArrangement, std::string>& refused() const {
    return refused_;
  }

  // Where the thread that reads and writes frames belongs under the affinity in use; empty where that is
  // anywhere.
  [[nodiscard]] const machine::CpuSet& io_cpus() const { return io_cpus_; }

  // Where shared workers wake that sleep (pool/wake_elsewhere.h), from the next run() on.
  void wake(pool::WakeUp where) { wake_ = where; }

  // Seconds in which run() has processed frames, and the work of each stage so far under all schedules used.
  [[nodiscard]] double compute_seconds() const;
  // Seconds in which run() has waited until the other streams that share the workers let it begin.
  [[nodiscard]] double waited_seconds() const;
  [[nodiscard]] std::vector<StageReport> stages() const;
  // Memory for intermediates, of all schedules that keep theirs.
  [[nodiscard]] std::size_t bytes() const;

  // Several frames in flight may take so much memory; by default half of what was to be had at the start.
  void allow_bytes(std::size_t most) { most_bytes_ = most; }

  // Every n-th call of run() is timed stage by stage; 0: none, 1: all.
  void time_stages_every(int n) { time_every_ = n; }

  // From the next call of run() on: once that is requested, run() ends soon with an Error of kind
  // `interrupted`, however large the frame is.
  void heed(std::stop_token stop) { stop_ = std::move(stop); }

  // Kernel calls of the next call of run() alone go to a log, which must live so long.
  void record_next(CallLog* log) { log_ = log; }
  // Of what is in use: for each plane that is computed, for each group, as in KernelCall.
  [[nodiscard]] std::vector<std::vector<GroupName>> group_names() const;

 private:
  // The incumbent, its challenger and the challenger before it: what a search goes back and forth between.
  static constexpr std::size_t most_kept = 3;

  Executor(pool::WorkerPool* pool, pool::SharedWorkers* shared, KernelLibrary& library,
           const machine::Topology& topology, const machine::CpuSet& usable);

  [[nodiscard]] int workers() const { return pool_ != nullptr ? pool_->size() : shared_->size(); }
  [[nodiscard]] Status run_by_threads(std::span<const FrameTask> frames, const Watch& watch);
  [[nodiscard]] Status check(const Schedule& schedule) const;
  // The schedule, free where its affinity was refused before, or nobody can be bound.
  [[nodiscard]] Schedule permitted(Schedule schedule) const;
  // False: the kernel refuses the schedule's affinity, and permitted() knows of it now.
  [[nodiscard]] Result<bool> bind(const Schedule& schedule);
  [[nodiscard]] Result<PreparedSchedule> prepare_stand_in(const FrameLayout& layout,
                                                          const Schedule& schedule);
  // Makes a schedule whose kernels are all there what runs. Failure where there is no memory for it, and what
  // was in use before still is.
  [[nodiscard]] Status install(PreparedSchedule prepared);
  void drop_oldest();

  std::size_t most_bytes_ = machine::usable_memory() / 2;
  pool::WorkerPool* pool_;  // one of the two, the other is null
  pool::SharedWorkers* shared_;
  pool::WakeUp wake_ = pool::WakeUp::anywhere;
  KernelLibrary& library_;
  const machine::Topology& topology_;
  const machine::CpuSet usable_;
  FrameLayout layout_;
  Schedule in_use_;
  std::list<PreparedSchedule> kept_;  // the one in use in front, then by last use
  std::optional<PreparedSchedule> pending_;
  std::optional<Error> unavailable_;  // why the stand-in runs for good
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
