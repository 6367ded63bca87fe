#include "millrace/image/executor.h"

#include "millrace/base/clock.h"
#include "millrace/pool/fresh_threads.h"

#include <algorithm>

#include <fmt/format.h>

namespace millrace::image {
namespace {

bool is_one_kernel(Structure structure) {
  return structure == Structure::backward || structure == Structure::backward_store;
}

// What runs until the kernels of a schedule are compiled: the same work from kernels that are built in.
Schedule stand_in_for(Schedule schedule) {
  schedule.fusion = Fusion::none;
  if (is_one_kernel(schedule.structure)) schedule.structure = Structure::tiled;
  return schedule;
}

std::string label(const Group& group) {
  std::string text;
  for (const PlannedStage& stage : group.planned) {
    if (!text.empty()) text += '+';
    text += stage.filter->name;
  }
  return text;
}

// A filter may occur more than once: its place in the pipeline tells them apart.
std::pair<int, std::string> key_of(std::size_t plane, const Group& group) {
  return {static_cast<int>(plane), fmt::format("{}:{}", group.planned.back().node, label(group))};
}

}  // namespace

double StageReport::seconds_per_frame() const {
  if (timed_pixels == 0 || frames == 0) return 0;
  const double ns_per_pixel = static_cast<double>(timed_ns) / static_cast<double>(timed_pixels);
  return ns_per_pixel * static_cast<double>(pixels_computed) / static_cast<double>(frames) * 1e-9;
}

Executor::Executor(pool::WorkerPool& pool, KernelLibrary& library, const machine::Topology& topology,
                   const machine::CpuSet& usable)
    : pool_(pool), library_(library), topology_(topology), usable_(usable) {}

Executor::~Executor() {
  if (current_.schedule.affinity != machine::AffinityArrangement::free) static_cast<void>(pool_.rebind({}));
}

Status Executor::set(const FramePlan& plan, const Schedule& schedule) {
  if (schedule.threads < 1 || schedule.threads > pool_.size()) {
    return usage_error("{} threads asked for, but 1 to {} may be used here", schedule.threads, pool_.size());
  }
  if (schedule.frames_in_flight < 1 || schedule.frames_in_flight > schedule.threads) {
    return usage_error("{} frames in flight need as many threads, but there {} {}; use 1 to {}",
                       schedule.frames_in_flight, schedule.threads == 1 ? "is" : "are", schedule.threads,
                       schedule.threads);
  }
  auto prepared = prepare(plan, schedule);
  if (!prepared) return std::unexpected(prepared.error());
  const auto ready = kernels_ready(*prepared);
  if (!ready) return std::unexpected(ready.error());
  std::optional<Prepared> pending;
  if (!*ready) {
    pending = std::move(*prepared);
    prepared = prepare(plan, stand_in_for(schedule));
    if (!prepared) return std::unexpected(prepared.error());
    const auto built_in = kernels_ready(*prepared);
    if (!built_in) return std::unexpected(built_in.error());
    if (!*built_in) return failure("this program has no kernels for {}", machine::name_of(schedule.isa));
  }
  // Nothing fails from here on: the schedule before stays in use until its successor is complete.
  if (Status bound = bind(schedule); !bound) return bound;
  pending_ = std::move(pending);
  use(std::move(*prepared));
  return {};
}

void Executor::use(Prepared prepared) {
  retire(current_);
  make_runners(prepared);
  current_ = std::move(prepared);
}

Result<Executor::Prepared> Executor::prepare(const FramePlan& plan, const Schedule& schedule) const {
  Prepared prepared{.schedule = schedule, .groups = std::make_shared<FrameGroups>(), .runners = {}};
  const bool one_kernel = is_one_kernel(schedule.structure);
  for (const PlanePlan& plane : plan.planes) {
    if (one_kernel && !fits_one_kernel(plane)) {
      return usage_error(
          "{} makes one kernel of the whole pipeline, which is too large to compile for this one "
          "({} stages with the conversions at its ends, each repeated wherever a pixel of it is read); "
          "use another structure",
          name_of(schedule.structure), plane.stages.size());
    }
    const Fusion fusion = one_kernel ? Fusion::all : schedule.fusion;
    Grouping grouping = group_stages(plane, fusion);
    prepared.groups->push_back(
        make_group_plan(plane, grouping, schedule.structure == Structure::backward_store));
  }
  return prepared;
}

void Executor::make_runners(Prepared& prepared) const {
  const Schedule& schedule = prepared.schedule;
  const int most = (schedule.threads + schedule.frames_in_flight - 1) / schedule.frames_in_flight;
  for (int f = 0; f < schedule.frames_in_flight; ++f) {
    // A lone frame at the end of a stream gets all the threads.
    prepared.runners.push_back(make_runner(schedule, prepared.groups, f == 0 ? schedule.threads : most));
  }
}

Result<bool> Executor::kernels_ready(Prepared& prepared) {
  bool all = true;
  for (GroupPlan& plane : *prepared.groups) {
    const auto ready = find_kernels(plane, library_, prepared.schedule.isa);
    if (!ready) return ready;
    all = all && *ready;
  }
  return all;
}

Status Executor::bind(const Schedule& schedule) {
  const bool was_free = current_.schedule.affinity == machine::AffinityArrangement::free;
  if (schedule.affinity == machine::AffinityArrangement::free) {
    io_cpus_ = {};
    return was_free ? Status{} : pool_.rebind({});
  }
  auto masks =
      machine::arrange(topology_, usable_, {.arrangement = schedule.affinity, .workers = schedule.threads});
  if (!masks) return std::unexpected(masks.error());
  std::vector<machine::CpuSet> bindings(static_cast<std::size_t>(pool_.size() - schedule.threads));
  bindings.insert(bindings.end(), masks->workers.begin(), masks->workers.end());
  if (Status bound = pool_.rebind(bindings); !bound) return bound;
  io_cpus_ = masks->io;
  return {};
}

Status Executor::await_kernels() {
  if (!pending_) return {};
  for (GroupPlan& plane : *pending_->groups) {
    for (Group& group : plane.groups) {
      auto kernel = library_.wait(group.spec, pending_->schedule.isa);
      if (!kernel) return std::unexpected(kernel.error());
      group.kernel = *kernel;
    }
  }
  use(std::move(*pending_));
  pending_.reset();
  return {};
}

Status Executor::run(std::span<const FrameTask> frames) {
  if (pending_) {
    const auto ready = kernels_ready(*pending_);
    if (!ready) return std::unexpected(ready.error());
    if (*ready) {
      use(std::move(*pending_));
      pending_.reset();
    } else {
      stand_in_frames_ += static_cast<std::int64_t>(frames.size());
    }
  }

  const bool timed = time_every_ > 0 && runs_ % time_every_ == 0;
  ++runs_;
  current_.frames += static_cast<std::int64_t>(frames.size());
  const int threads = current_.schedule.threads;
  pool::FreshThreads fresh(threads);
  pool::PoolTeam workers = pool_.team().last(threads);
  pool::Team& team = current_.schedule.fresh_threads ? static_cast<pool::Team&>(fresh) : workers;

  const std::int64_t start = now_ns();
  Status done;
  if (frames.size() == 1) {
    done = current_.runners[0]->run(frames[0], team, timed);
  } else {
    std::vector<Status> results(frames.size());
    done = team.run_teams(static_cast<int>(frames.size()), [&](int part, pool::Team& part_of_team) {
      const auto f = static_cast<std::size_t>(part);
      results[f] = current_.runners[f]->run(frames[f], part_of_team, timed);
    });
    for (const Status& result : results) {
      if (done && !result) done = result;
    }
  }
  compute_ns_ += now_ns() - start;
  return done;
}

double Executor::compute_seconds() const { return seconds(compute_ns_); }

void Executor::add_reports(const Prepared& prepared,
                           std::map<std::pair<int, std::string>, StageReport>& sums) const {
  if (!prepared.groups || prepared.frames == 0) return;
  for (std::size_t p = 0; p < prepared.groups->size(); ++p) {
    const GroupPlan& plane = (*prepared.groups)[p];
    const std::vector<Rect> regions = required_regions(plane.plan, whole(plane.output().size()));
    std::vector<std::vector<GroupCounters>> counters;  // of each runner
    for (const auto& runner : prepared.runners)
      counters.push_back(runner->counters()[p]);
    for (std::size_t g = 0; g < plane.groups.size(); ++g) {
      const Group& group = plane.groups[g];
      StageReport& sum = sums[key_of(p, group)];
      sum.stages = label(group);
      sum.plane = static_cast<int>(p);
      sum.frames += prepared.frames;
      sum.pixels_required +=
          regions[static_cast<std::size_t>(group.stages.back())].pixels() * prepared.frames;
      for (const auto& of_runner : counters) {
        sum.pixels_computed += of_runner[g].pixels;
        sum.timed_ns += of_runner[g].ns;
        sum.timed_pixels += of_runner[g].timed_pixels;
      }
    }
  }
}

void Executor::retire(Prepared& prepared) {
  add_reports(prepared, retired_);
  prepared = {.schedule = prepared.schedule, .groups = nullptr, .runners = {}};
}

std::vector<StageReport> Executor::stages() const {
  auto sums = retired_;
  add_reports(current_, sums);
  // In the order of the current plan, what was used before behind it.
  std::vector<StageReport> reports;
  if (current_.groups) {
    for (std::size_t p = 0; p < current_.groups->size(); ++p) {
      for (const Group& group : (*current_.groups)[p].groups) {
        auto node = sums.extract(key_of(p, group));
        if (!node.empty()) reports.push_back(node.mapped());
      }
    }
  }
  for (auto& [key, report] : sums)
    reports.push_back(report);
  return reports;
}

std::size_t Executor::bytes() const {
  std::size_t sum = 0;
  for (const auto& runner : current_.runners)
    sum += runner->bytes();
  return sum;
}

}  // namespace millrace::image
