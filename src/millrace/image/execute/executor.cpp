#include "millrace/image/execute/executor.h"

#include "millrace/base/error/clock.h"
#include "millrace/pool/fresh_threads.h"

#include <algorithm>
#include <utility>

namespace millrace::image {
namespace {

// The schedule that runs until the kernels of `schedule` are compiled: the same work with built-in kernels.
Schedule stand_in_for(Schedule schedule) {
  schedule.fusion = Fusion::none;
  if (is_one_kernel(schedule.structure)) schedule.structure = Structure::tiled;
  return schedule;
}

}  // namespace

Executor::Executor(pool::WorkerPool* pool, pool::SharedWorkers* shared, KernelLibrary& library,
                   const machine::Topology& topology, const machine::CpuSet& usable)
    : pool_(pool), shared_(shared), library_(library), topology_(topology), usable_(usable) {}

Executor::Executor(pool::WorkerPool& pool, KernelLibrary& library, const machine::Topology& topology,
                   const machine::CpuSet& usable)
    : Executor(&pool, nullptr, library, topology, usable) {}

Executor::Executor(pool::SharedWorkers& workers, KernelLibrary& library, const machine::Topology& topology,
                   const machine::CpuSet& usable)
    : Executor(nullptr, &workers, library, topology, usable) {}

Executor::~Executor() {
  if (bound_ != machine::AffinityArrangement::free) static_cast<void>(pool_->rebind({}));
}

Status Executor::check(const Schedule& schedule) const {
  if (schedule.threads < 1 || schedule.threads > workers()) {
    return usage_error("{} threads asked for, but 1 to {} may be used here", schedule.threads, workers());
  }
  if (schedule.frames_in_flight < 1 || schedule.frames_in_flight > schedule.threads) {
    return usage_error("{} frames in flight need as many threads, but there {} {}; use 1 to {}",
                       schedule.frames_in_flight, schedule.threads == 1 ? "is" : "are", schedule.threads,
                       schedule.threads);
  }
  return {};
}

Status Executor::set(const FrameLayout& layout, const Schedule& asked) {
  const Schedule schedule = permitted(asked);
  if (Status possible = check(schedule); !possible) return possible;
  auto prepared = PreparedSchedule::make(layout, schedule);
  if (!prepared) return std::unexpected(prepared.error());
  const auto ready = prepared->find_kernels(library_);
  std::optional<PreparedSchedule> pending;
  if (!ready || !*ready) {
    if (ready) pending = std::move(*prepared);
    prepared = prepare_stand_in(layout, schedule);
    if (!prepared) return std::unexpected(prepared.error());
  }
  // From here on only memory can fail. The previous schedule stays in use until the new one is complete.
  const auto bound = bind(schedule);
  if (!bound) return std::unexpected(bound.error());
  if (!*bound) return set(layout, asked);
  while (!kept_.empty())
    drop_oldest();
  layout_ = layout;
  pending_ = std::move(pending);
  unavailable_.reset();
  if (!ready) unavailable_ = ready.error();
  Status installed = install(std::move(*prepared));
  if (!installed) pending_.reset();
  return installed;
}

Result<PreparedSchedule> Executor::prepare_stand_in(const FrameLayout& layout, const Schedule& schedule) {
  auto prepared = PreparedSchedule::make(layout, stand_in_for(schedule));
  if (!prepared) return prepared;
  const auto built_in = prepared->find_kernels(library_);
  if (!built_in) return std::unexpected(built_in.error());
  if (!*built_in) return failure("this program has no kernels for {}", machine::name_of(schedule.isa));
  return prepared;
}

Status Executor::use(const Schedule& asked) {
  const Schedule schedule = permitted(asked);
  if (!pending_ && schedule == in_use_) {
    unavailable_.reset();  // a stand-in is what was requested
    return {};
  }
  if (Status possible = check(schedule); !possible) return possible;
  const auto known = std::ranges::find(kept_, schedule, &PreparedSchedule::schedule);
  if (known != kept_.end()) {
    const auto bound = bind(schedule);
    if (!bound) return std::unexpected(bound.error());
    if (!*bound) return use(asked);
    pending_.reset();
    unavailable_.reset();
    kept_.splice(kept_.begin(), kept_, known);
    in_use_ = schedule;
    ++switches_;
    return {};
  }
  auto prepared = PreparedSchedule::make(layout_, schedule);
  if (!prepared) return std::unexpected(prepared.error());
  const auto ready = prepared->find_kernels(library_);
  if (!ready) return std::unexpected(ready.error());
  std::optional<PreparedSchedule> pending;
  if (!*ready) {
    pending = std::move(*prepared);
    prepared = prepare_stand_in(layout_, schedule);
    if (!prepared) return std::unexpected(prepared.error());
  }
  const auto bound = bind(schedule);
  if (!bound) return std::unexpected(bound.error());
  if (!*bound) return use(asked);
  if (Status installed = install(std::move(*prepared)); !installed) {
    // Pins the workers again for the schedule in use.
    static_cast<void>(bind(in_use_));
    return installed;
  }
  pending_ = std::move(pending);
  unavailable_.reset();
  return {};
}

Status Executor::install(PreparedSchedule prepared) {
  while (kept_.size() >= most_kept)
    drop_oldest();
  Status made = prepared.make_runners(most_bytes_);
  // If memory is short, schedules used earlier give up theirs.
  while (!made && kept_.size() > 1) {
    drop_oldest();
    made = prepared.make_runners(most_bytes_);
  }
  if (!made) return made;
  in_use_ = prepared.schedule();
  kept_.push_front(std::move(prepared));
  ++switches_;
  return {};
}

void Executor::drop_oldest() {
  kept_.back().add_reports(retired_);
  kept_.pop_back();
}

void Executor::update(const FrameLayout& layout) {
  layout_ = layout;
  for (PreparedSchedule& prepared : kept_)
    prepared.update(layout);
  if (pending_) pending_->update(layout);
}

Schedule Executor::permitted(Schedule schedule) const {
  if (pool_ == nullptr || refused_.contains(schedule.affinity))
    schedule.affinity = machine::AffinityArrangement::free;
  return schedule;
}

Result<bool> Executor::bind(const Schedule& schedule) {
  using machine::AffinityArrangement;
  if (schedule.affinity == bound_ &&
      (bound_ == AffinityArrangement::free || schedule.threads == bound_threads_))
    return true;
  std::vector<machine::CpuSet> bindings;
  machine::CpuSet io;
  if (schedule.affinity != AffinityArrangement::free) {
    auto masks =
        machine::arrange(topology_, usable_, {.arrangement = schedule.affinity, .workers = schedule.threads});
    if (!masks) return std::unexpected(masks.error());
    bindings.resize(pool_->size() - schedule.threads);
    bindings.insert(bindings.end(), masks->workers.begin(), masks->workers.end());
    io = masks->io;
  }
  if (Status bound = pool_->rebind(bindings); !bound) {
    refused_[schedule.affinity] = bound.error().message;
    // If workers cannot even be unpinned, they work where they are.
    if (schedule.affinity != AffinityArrangement::free) return false;
  }
  io_cpus_ = std::move(io);
  bound_ = schedule.affinity;
  bound_threads_ = schedule.threads;
  return true;
}

Status Executor::await_kernels(const std::stop_token& stop) {
  if (unavailable_) return std::unexpected(*unavailable_);
  if (!pending_) return interim() ? kept_.front().await_kernels(library_, stop) : Status{};
  if (Status there = pending_->await_kernels(library_, stop); !there) return there;
  Status installed = install(std::move(*pending_));
  pending_.reset();
  if (!installed) unavailable_ = installed.error();
  return installed;
}

Status Executor::run(std::span<const FrameTask> frames) {
  if (kept_.empty()) return failure("no schedule is set");
  if (pending_) {
    if (const auto ready = pending_->find_kernels(library_); !ready) {
      unavailable_ = ready.error();
      pending_.reset();
    } else if (*ready) {
      if (const Status installed = install(std::move(*pending_)); !installed)
        unavailable_ = installed.error();
      pending_.reset();
    }
  }
  if (interim()) kept_.front().replace_interim(library_);
  if (stand_in()) stand_in_frames_ += static_cast<std::int64_t>(frames.size());
  const Watch watch{.timed = time_every_ > 0 && runs_ % time_every_ == 0,
                    .log = std::exchange(log_, nullptr),
                    .stop = stop_.stop_possible() ? &stop_ : nullptr};
  ++runs_;
  const std::int64_t start = now_ns();
  const std::int64_t waited_before = waited_ns_;
  Status done = run_by_threads(frames, watch);
  compute_ns_ += now_ns() - start - (waited_ns_ - waited_before);
  if (!done && stop_.stop_requested())
    return std::unexpected(Error{ErrorKind::interrupted, "interrupted while computing"});
  return done;
}

Status Executor::run_by_threads(std::span<const FrameTask> frames, const Watch& watch) {
  const int threads = in_use_.threads;
  if (in_use_.fresh_threads) {
    // New threads inherit the affinity of the thread that makes them, which is pinned with the others.
    std::span<const machine::CpuSet> bindings;
    if (bound_ != machine::AffinityArrangement::free)
      bindings = std::span(pool_->granted()).last(static_cast<std::size_t>(threads));
    pool::FreshThreads fresh(threads, bindings);
    return kept_.front().run(frames, fresh, watch);
  }
  if (shared_ != nullptr) {
    const std::int64_t asked = now_ns();
    return shared_->run(
        threads,
        [&](pool::Team& team) {
          waited_ns_ += now_ns() - asked;
          return kept_.front().run(frames, team, watch);
        },
        wake_);
  }
  pool::PoolTeam team = pool_->team().last(threads);
  return kept_.front().run(frames, team, watch);
}

std::vector<std::vector<GroupName>> Executor::group_names() const {
  return kept_.empty() ? std::vector<std::vector<GroupName>>() : kept_.front().group_names();
}

double Executor::compute_seconds() const { return seconds(compute_ns_); }

double Executor::waited_seconds() const { return seconds(waited_ns_); }

std::vector<StageReport> Executor::stages() const {
  StageReports sums = retired_;
  for (const PreparedSchedule& prepared : kept_)
    prepared.add_reports(sums);
  // In the order of the current schedule, followed by those used before.
  std::vector<StageReport> reports;
  if (!kept_.empty()) {
    for (const auto& key : kept_.front().report_keys()) {
      auto node = sums.extract(key);
      if (!node.empty()) reports.push_back(node.mapped());
    }
  }
  for (auto& [key, report] : sums)
    reports.push_back(report);
  return reports;
}

std::size_t Executor::bytes() const {
  std::size_t sum = 0;
  for (const PreparedSchedule& prepared : kept_)
    sum += prepared.bytes();
  return sum;
}

}  // namespace millrace::image
