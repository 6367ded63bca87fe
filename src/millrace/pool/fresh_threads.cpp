#include "millrace/pool/fresh_threads.h"

#include "millrace/machine/thread/thread_affinity.h"
#include "millrace/pool/contiguous_part.h"
#include "millrace/pool/team_failure.h"

#include <algorithm>
#include <exception>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

namespace millrace::pool {
namespace {

using machine::CpuSet;

// The outcome of one rank's thread; written by the thread, read after the join.
struct Outcome {
  std::optional<Error> unbound;
  std::exception_ptr thrown;
};

// Threads created for one run, joined on every exit path.
class JoinedThreads {
 public:
  explicit JoinedThreads(std::size_t capacity) { threads_.reserve(capacity); }
  ~JoinedThreads() { join(); }
  JoinedThreads(const JoinedThreads&) = delete;
  JoinedThreads& operator=(const JoinedThreads&) = delete;

  template <class Body> void start(Body&& body) { threads_.emplace_back(std::forward<Body>(body)); }
  void join() {
    for (std::thread& thread : threads_)
      thread.join();
    threads_.clear();
  }

 private:
  std::vector<std::thread> threads_;
};

// Runs fn(rank) for [begin, end): the last rank on this thread, each other rank on a new thread pinned to
// binding_of(rank).
template <class BindingOf>
Status run_on_fresh_threads(int begin, int end, FunctionRef<void(int rank)> fn, const BindingOf& binding_of) {
  const int own_rank = end - 1;
  std::vector<Outcome> outcomes(static_cast<std::size_t>(end - begin));
  JoinedThreads threads(outcomes.size());
  for (int rank = begin; rank < own_rank; ++rank) {
    Outcome& outcome = outcomes[static_cast<std::size_t>(rank - begin)];
    try {
      threads.start([&outcome, rank, fn, cpus = binding_of(rank)] {
        if (!cpus.empty())
          if (auto granted = machine::bind_current_thread(cpus); !granted) {
            outcome.unbound = std::move(granted.error());
            return;
          }
        outcome.thrown = caught_from([&] { fn(rank); });
      });
    } catch (const std::system_error& error) {
      return failure("cannot start the thread of rank {}: {}; use fewer threads", rank, error.what());
    }
  }
  outcomes.back().thrown = caught_from([&] { fn(own_rank); });
  threads.join();

  TeamFailure failed;
  for (int rank = begin; rank < end; ++rank) {
    Outcome& outcome = outcomes[static_cast<std::size_t>(rank - begin)];
    if (outcome.unbound)
      return std::unexpected(
          Error{outcome.unbound->kind, fmt::format("rank {}: {}", rank, outcome.unbound->message)});
    failed.add(rank, std::move(outcome.thrown));
  }
  return failed.status();
}

}  // namespace

FreshThreads::FreshThreads(int size, std::span<const CpuSet> bindings)
    : size_(std::max(size, 1)), bindings_(bindings.begin(), bindings.end()) {}

CpuSet FreshThreads::binding(int rank) const {
  const auto i = static_cast<std::size_t>(rank);
  return i < bindings_.size() ? bindings_[i] : CpuSet{};
}

Status FreshThreads::run_last(int active, FunctionRef<void(int rank)> fn) {
  if (Status counted = check_team_count("ranks", active, size_); !counted) return counted;
  return run_on_fresh_threads(size_ - active, size_, fn, [&](int rank) { return binding(rank); });
}

Status FreshThreads::run_teams(int parts, FunctionRef<void(int part, Team& team)> fn) {
  if (Status counted = check_team_count("teams", parts, size_); !counted) return counted;
  const auto lead = [&](int part) {
    const Part ranks = contiguous_part(size_, parts, part);
    std::vector<CpuSet> bindings;
    for (std::int64_t rank = ranks.begin; rank < ranks.end; ++rank)
      bindings.push_back(binding(static_cast<int>(rank)));
    FreshThreads team(static_cast<int>(ranks.end - ranks.begin), bindings);
    fn(part, team);
  };
  // The leader of a part has the part's last rank.
  return run_on_fresh_threads(0, parts, lead, [&](int part) {
    return binding(static_cast<int>(contiguous_part(size_, parts, part).end) - 1);
  });
}

}  // namespace millrace::pool
