#include "millrace/pool/shared_workers.h"

#include "millrace/pool/contiguous_part.h"
#include "millrace/pool/in_turn_team.h"
#include "millrace/pool/team_failure.h"
#include "millrace/pool/worker_pool.h"

#include <algorithm>
#include <optional>
#include <pthread.h>
#include <system_error>
#include <tuple>
#include <utility>

namespace millrace::pool {
namespace {

// The failure of the lowest rank, from any thread. Locks only after a failure.
class SharedFailure {
 public:
  void add(int rank, std::exception_ptr error) {
    if (!error) return;
    const std::scoped_lock lock(mutex_);
    if (error_ && rank_ < rank) return;
    error_ = std::move(error);
    rank_ = rank;
  }

  // Call after the join.
  [[nodiscard]] Status status() {
    TeamFailure failed;
    failed.add(rank_, std::move(error_));
    return failed.status();
  }

 private:
  std::mutex mutex_;
  std::exception_ptr error_;
  int rank_ = 0;
};

}  // namespace

// The leader and its borrowed helpers.
class SharedWorkers::LentTeam final : public Team {
 public:
  LentTeam(const SharedWorkers& workers, int ranks, const std::vector<Helper*>& helpers, WakeUp wake)
      : workers_(workers), ranks_(ranks), helpers_(helpers), wake_(wake) {}

  [[nodiscard]] int size() const override { return ranks_; }

  [[nodiscard]] Status run_last(int active, FunctionRef<void(int rank)> fn) override {
    if (Status counted = check_team_count("ranks", active, ranks_); !counted) return counted;
    return workers_.share_out(helpers_, wake_, ranks_ - active, ranks_, fn);
  }

  [[nodiscard]] Status run_teams(int parts, FunctionRef<void(int part, Team& team)> fn) override {
    if (Status counted = check_team_count("teams", parts, ranks_); !counted) return counted;
    if (parts == 1) {
      TeamFailure failed;
      failed.add(0, caught_from([&] { fn(0, *this); }));
      return failed.status();
    }
    return workers_.share_out(helpers_, wake_, 0, parts, [&](int part) {
      const Part ranks = contiguous_part(ranks_, parts, part);
      InTurnTeam team(static_cast<int>(ranks.end - ranks.begin));
      fn(part, team);
    });
  }

 private:
  const SharedWorkers& workers_;
  int ranks_;
  const std::vector<Helper*>& helpers_;
  WakeUp wake_;
};

SharedWorkers::SharedWorkers(int workers, std::int64_t linger_ns)
    : size_(workers), linger_ns_(linger_ns), helpers_(static_cast<std::size_t>(workers - 1)), limit_(workers),
      free_(workers) {
  idle_.reserve(helpers_.size());
}

Result<std::unique_ptr<SharedWorkers>> SharedWorkers::create(int workers, std::int64_t linger_ns) {
  if (workers < 1) return usage_error("a pool of {} workers cannot work; give at least 1", workers);
  std::unique_ptr<SharedWorkers> shared(new SharedWorkers(workers, linger_ns));
  for (std::size_t i = 0; i < shared->helpers_.size(); ++i) {
    Helper& helper = shared->helpers_[i];
    try {
      helper.thread = std::thread([&mailbox = helper.mailbox, linger_ns] {
        for (;;) {
          const Job job = mailbox.receive(linger_ns);
          if (!job.work) return;
          mailbox.finish(caught_from([&] { job.work(job.rank); }));
        }
      });
    } catch (const std::system_error& error) {
      return failure("cannot start worker {} of {}: {}; use fewer threads", i, workers, error.what());
    }
    std::ignore = pthread_setname_np(helper.thread.native_handle(), fmt::format("worker-{}", i).c_str());
    shared->idle_.push_back(&helper);
  }
  return shared;
}

SharedWorkers::~SharedWorkers() {
  for (Helper& helper : helpers_) {
    if (!helper.thread.joinable()) continue;
    helper.mailbox.post(Job{});
    helper.thread.join();
  }
}

void SharedWorkers::limit_each(int threads) {
  limit_.store(std::clamp(threads, 1, size_), std::memory_order_relaxed);
}

void SharedWorkers::begin(int ranks, std::vector<Helper*>& helpers) {
  const int limit = std::min(ranks, limit_.load(std::memory_order_relaxed));
  helpers.reserve(static_cast<std::size_t>(limit - 1));
  std::unique_lock lock(mutex_);
  const std::uint64_t ticket = next_ticket_++;
  freed_.wait(lock, [&] { return ticket == serving_ && free_ > 0; });
  ++serving_;
  --free_;
  const auto waiting = static_cast<int>(std::min<std::uint64_t>(next_ticket_ - serving_, 1U << 20));
  for (int lent = std::min(limit - 1, free_ - waiting); lent > 0; --lent) {
    helpers.push_back(idle_.back());
    idle_.pop_back();
    --free_;
  }
  if (waiting > 0 && free_ > 0) freed_.notify_all();
}

void SharedWorkers::end(const std::vector<Helper*>& helpers) {
  const std::scoped_lock lock(mutex_);
  free_ += 1 + static_cast<int>(helpers.size());
  idle_.insert(idle_.end(), helpers.begin(), helpers.end());
  if (next_ticket_ != serving_) freed_.notify_all();
}

Status SharedWorkers::run(int ranks, FunctionRef<Status(Team& team)> fn, WakeUp wake) {
  if (ranks < 1) return usage_error("a team of {} cannot work; give at least 1", ranks);
  std::vector<Helper*> helpers;
  begin(ranks, helpers);
  LentTeam team(*this, ranks, helpers, wake);
  Status done;
  const std::exception_ptr thrown = caught_from([&] { done = fn(team); });
  end(helpers);
  if (thrown) std::rethrow_exception(thrown);
  return done;
}

Status SharedWorkers::share_out(const std::vector<Helper*>& helpers, WakeUp wake, int first, int end,
                                FunctionRef<void(int rank)> work) const {
  SharedFailure failed;
  // relaxed: the atomic read-modify-write alone gives every rank to only one thread. The mailboxes publish
  // the data.
  std::atomic<int> next = first;
  const int last = end - 1;
  const auto take = [&](int) {
    for (int rank = next.fetch_add(1, std::memory_order_relaxed); rank < last;
         rank = next.fetch_add(1, std::memory_order_relaxed))
      failed.add(rank, caught_from([&] { work(rank); }));
  };
  const auto useful = std::min(helpers.size(), static_cast<std::size_t>(last - first));
  for (std::size_t h = 0; h < useful; ++h)
    helpers[h]->mailbox.offer({take, 0, 0}, wake);
  failed.add(last, caught_from([&] { work(last); }));
  take(0);
  // All ranks are taken, so a helper that has not started has nothing to do. Do not wait for it.
  for (std::size_t h = 0; h < useful; ++h)
    std::ignore = helpers[h]->mailbox.take_back_or_await(linger_ns_);
  return failed.status();
}

}  // namespace millrace::pool
