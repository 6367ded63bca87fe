#include "millrace/pool/worker_pool.h"

#include "millrace/machine/limits/usable_cpus.h"
#include "millrace/pool/contiguous_part.h"
#include "millrace/pool/team_failure.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <pthread.h>
#include <system_error>
#include <tuple>
#include <utility>

namespace millrace::pool {

using machine::CpuSet;

std::vector<bool> may_linger(std::span<const CpuSet> allowed) {
  std::vector<bool> result;
  result.reserve(allowed.size());
  for (const CpuSet& own : allowed) {
    const auto confined =
        std::ranges::count_if(allowed, [&](const CpuSet& other) { return own.contains_all(other); });
    result.push_back(confined <= own.count());
  }
  return result;
}

WorkerPool::WorkerPool(int workers)
    : home_(machine::current_thread_affinity().value_or(CpuSet{})),
      workers_(static_cast<std::size_t>(workers)), granted_(workers_.size(), home_) {
  workers_.back().thread_id = std::this_thread::get_id();
  set_lingers();
}

Result<std::unique_ptr<WorkerPool>> WorkerPool::create(int workers, std::span<const CpuSet> bindings) {
  if (workers < 1) return usage_error("a pool of {} workers cannot work; give at least 1", workers);
  std::unique_ptr<WorkerPool> pool(new WorkerPool(workers));
  for (int i = 0; i + 1 < workers; ++i) {
    Worker& worker = pool->workers_[static_cast<std::size_t>(i)];
    try {
      worker.thread = std::thread([&pool = *pool, &worker] { pool.serve(worker); });
    } catch (const std::system_error& error) {
      return failure("cannot start worker {} of {}: {}; use fewer threads", i, workers, error.what());
    }
    worker.thread_id = worker.thread.get_id();
    // For people who look at threads in top or perf. A refusal is harmless.
    std::ignore = pthread_setname_np(worker.thread.native_handle(), fmt::format("worker-{}", i).c_str());
  }
  if (Status bound = pool->rebind(bindings); !bound) return std::unexpected(bound.error());
  return pool;
}

Result<std::unique_ptr<WorkerPool>> WorkerPool::create() { return create(usable_workers()); }

namespace {

int usable(int machine::UsableCpus::* limit) {
  const auto own = machine::current_thread_affinity();
  if (!own) return static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  const auto told = machine::usable_cpus(*own);
  return told ? (*told).*limit : own->count();
}

}  // namespace

int usable_workers() { return usable(&machine::UsableCpus::worker_limit); }
int most_usable_workers() { return usable(&machine::UsableCpus::most_workers); }

WorkerPool::~WorkerPool() {
  for (Worker& worker : workers_) {
    if (!worker.thread.joinable()) continue;
    worker.mailbox.post(Job{});
    worker.thread.join();
  }
  // Best effort: the kernel may refuse if the cpuset has shrunk.
  if (granted_.back() != home_) std::ignore = machine::bind_current_thread(home_);
}

PoolTeam WorkerPool::team() { return {*this, 0, size()}; }

void WorkerPool::serve(Worker& worker) {
  for (;;) {
    const Job job = worker.mailbox.receive(worker.linger_ns.load(std::memory_order_relaxed));
    if (!job.work) return;
    worker.first_led = job.first_led;
    worker.mailbox.finish(caught_from([&] { job.work(job.rank); }));
  }
}

Status WorkerPool::bind_to(std::span<const CpuSet> sets) {
  std::vector<std::optional<Error>> errors(sets.size());
  const Status done = team().run([&](int rank) {
    const auto i = static_cast<std::size_t>(rank);
    if (sets[i] == granted_[i]) return;
    if (auto mask = machine::bind_current_thread(sets[i]))
      granted_[i] = std::move(*mask);
    else
      errors[i] = std::move(mask.error());
  });
  if (!done) return done;
  for (std::size_t i = 0; i < errors.size(); ++i)
    if (errors[i])
      return std::unexpected(
          Error{errors[i]->kind, fmt::format("worker {} of {}: {}", i, size(), errors[i]->message)});
  return {};
}

void WorkerPool::set_lingers() {
  const std::vector<bool> lingers = may_linger(granted_);
  for (std::size_t i = 0; i < workers_.size(); ++i)
    workers_[i].linger_ns.store(lingers[i] ? linger_ns : 0, std::memory_order_relaxed);
}

Status WorkerPool::rebind(std::span<const CpuSet> bindings) {
  if (!bindings.empty() && bindings.size() != workers_.size())
    return usage_error(
        "{} affinity masks for a pool of {} workers; give one per worker, or none to unpin all",
        bindings.size(), workers_.size());
  std::vector<CpuSet> wanted(workers_.size(), home_);
  for (std::size_t i = 0; i < bindings.size(); ++i)
    if (!bindings[i].empty()) wanted[i] = bindings[i];
  if (wanted == granted_) return {};
  if (home_.empty())
    return failure(
        "the CPUs that this thread may use are unknown, so a worker could not be freed again once bound");
  const std::vector<CpuSet> before = granted_;
  const Status bound = bind_to(wanted);
  // The previous sets can usually be granted again. If not, the first error is still the one to report.
  if (!bound) std::ignore = bind_to(before);
  set_lingers();
  return bound;
}

PoolTeam PoolTeam::last(int count) const {
  const int kept = std::clamp(count, 1, size_);
  return {*pool_, first_ + size_ - kept, kept};
}

Status PoolTeam::check(int active) const {
  const int leader = first_ + size_ - 1;
  const WorkerPool::Worker& self = worker(size_ - 1);
  if (self.thread_id != std::this_thread::get_id())
    return usage_error("workers {} to {} can be run by worker {} alone, not by another thread", first_,
                       leader, leader);
  if (self.first_led > leader - active + 1)
    return usage_error("workers {} to {} are busy; run on them when their run has returned", first_, leader);
  return {};
}

template <class TeamOf>
Status PoolTeam::fork_join(int begin, int end, FunctionRef<void(int rank)> work, const TeamOf& team_of) {
  const auto leader_of = [](const PoolTeam& team) -> WorkerPool::Worker& {
    return team.worker(team.size_ - 1);
  };
  const int own_rank = end - 1;
  WorkerPool::Worker& self = leader_of(*this);
  // Until the join this thread leads only its own part.
  const int led_before = std::exchange(self.first_led, team_of(own_rank).first_);
  for (int rank = begin; rank < own_rank; ++rank) {
    const PoolTeam team = team_of(rank);
    leader_of(team).mailbox.post({work, rank, team.first_});
  }
  std::exception_ptr own = caught_from([&] { work(own_rank); });

  TeamFailure failed;
  const std::int64_t linger = self.linger_ns.load(std::memory_order_relaxed);
  for (int rank = begin; rank < own_rank; ++rank) {
    Mailbox& mailbox = leader_of(team_of(rank)).mailbox;
    mailbox.await_done(linger);
    failed.add(rank, mailbox.take_error());
  }
  failed.add(own_rank, std::move(own));
  self.first_led = led_before;
  return failed.status();
}

Status PoolTeam::run_last(int active, FunctionRef<void(int rank)> fn) {
  if (Status counted = check_team_count("ranks", active, size_); !counted) return counted;
  if (Status free = check(active); !free) return free;
  return fork_join(size_ - active, size_, fn, [&](int rank) { return PoolTeam(*pool_, first_ + rank, 1); });
}

Status PoolTeam::run_teams(int parts, FunctionRef<void(int part, Team& team)> fn) {
  if (Status counted = check_team_count("teams", parts, size_); !counted) return counted;
  if (Status free = check(size_); !free) return free;
  const auto team_of = [&](int part) {
    const Part ranks = contiguous_part(size_, parts, part);
    return PoolTeam(*pool_, first_ + static_cast<int>(ranks.begin),
                    static_cast<int>(ranks.end - ranks.begin));
  };
  const auto lead = [&](int part) {
    PoolTeam team = team_of(part);
    fn(part, team);
  };
  return fork_join(0, parts, lead, team_of);
}

}  // namespace millrace::pool
