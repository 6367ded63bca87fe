// The executor: processes frames by a schedule, and changes the schedule between two frames.
#pragma once

#include "millrace/image/kernel_library.h"
#include "millrace/image/plan.h"
#include "millrace/image/schedule.h"
#include "millrace/image/structure_runner.h"
#include "millrace/machine/topology.h"
#include "millrace/pool/worker_pool.h"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace millrace::image {

// What was done for one stage, or for stages fused into one kernel, summed over frames.
struct StageReport {
  std::string stages;  // "sobel_x+sobel_y+magnitude"
  int plane = 0;
  std::int64_t frames = 0;
  std::int64_t pixels_computed = 0;
  std::int64_t pixels_required = 0;  // the area of the last stage that the frame's output needs, times frames
  std::int64_t timed_ns = 0;         // CPU time of timed kernel calls
  std::int64_t timed_pixels = 0;     // pixels they computed

  // CPU seconds for a frame, from the timed part of the pixels.
  [[nodiscard]] double seconds_per_frame() const;
};

// One for each stream of frames. Used by one thread, the one that made the pool; the pool's workers do the
// work.
class Executor {
 public:
  // Pool, library and the values behind the machine must outlive the executor. The machine is asked for the
  // masks of an affinity arrangement.
  Executor(pool::WorkerPool& pool, KernelLibrary& library, const machine::Topology& topology,
           const machine::CpuSet& usable);
  // Frees the workers from any binding.
  ~Executor();
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  // Sets what is computed and how, from the next frame on. Kernels that have to be compiled first are
  // compiled in the background; until they are there, a stand-in runs: the same stages, not fused, and
  // `tiled` in the place of the backward structures that exist only as one kernel. Usage error where the
  // schedule is impossible, and what was set before stays in use: more threads than the pool has, more frames
  // in flight than threads, too many stages for one kernel, too few PUs.
  [[nodiscard]] Status set(const FramePlan& plan, const Schedule& schedule);

  // Waits until the schedule itself is in use. An Error where a kernel cannot be compiled.
  [[nodiscard]] Status await_kernels();

  // Processes 1 to frames_in_flight frames side by side.
  [[nodiscard]] Status run(std::span<const FrameTask> frames);

  // What runs now: the schedule set, or its stand-in.
  [[nodiscard]] const Schedule& in_use() const { return current_.schedule; }
  [[nodiscard]] bool stand_in() const { return pending_.has_value(); }
  [[nodiscard]] std::int64_t stand_in_frames() const { return stand_in_frames_; }

  // Where the thread that reads and writes frames belongs under the affinity in use; empty where that is
  // anywhere.
  [[nodiscard]] const machine::CpuSet& io_cpus() const { return io_cpus_; }

  // Seconds spent in run(), and the work of each stage so far under all schedules used.
  [[nodiscard]] double compute_seconds() const;
  [[nodiscard]] std::vector<StageReport> stages() const;
  // Memory for intermediates of the schedule in use.
  [[nodiscard]] std::size_t bytes() const;

  // Every n-th call of run() is timed stage by stage; 0: none, 1: all.
  void time_stages_every(int n) { time_every_ = n; }

 private:
  struct Prepared {
    Schedule schedule;
    std::shared_ptr<FrameGroups> groups;
    std::vector<std::unique_ptr<StructureRunner>> runners;  // one for each frame in flight
    std::int64_t frames = 0;
  };

  [[nodiscard]] Result<Prepared> prepare(const FramePlan& plan, const Schedule& schedule) const;
  void make_runners(Prepared& prepared) const;
  [[nodiscard]] Result<bool> kernels_ready(Prepared& prepared);
  [[nodiscard]] Status bind(const Schedule& schedule);
  // Makes `prepared`, whose kernels are all there, what runs.
  void use(Prepared prepared);
  void retire(Prepared& prepared);
  void add_reports(const Prepared& prepared, std::map<std::pair<int, std::string>, StageReport>& sums) const;

  pool::WorkerPool& pool_;
  KernelLibrary& library_;
  const machine::Topology& topology_;
  const machine::CpuSet usable_;
  Prepared current_;
  std::optional<Prepared> pending_;
  machine::CpuSet io_cpus_;
  std::map<std::pair<int, std::string>, StageReport> retired_;
  std::int64_t compute_ns_ = 0;
  std::int64_t runs_ = 0;
  std::int64_t stand_in_frames_ = 0;
  int time_every_ = 16;
};

}  // namespace millrace::image
