// FreshThreads: a team that makes its threads anew for every run and joins them after it, the classical
// baseline of the execution-structures paper.
#pragma once

#include "millrace/base/export.h"
#include "millrace/base/result.h"
#include "millrace/machine/cpus/cpu_set.h"
#include "millrace/pool/team.h"

#include <cstddef>
#include <span>
#include <vector>

namespace millrace::pool {

// run_last(n) makes and joins n-1 threads; the calling thread is the last rank. Threads share nothing between
// runs, so any number of runs may be under way, from any threads; the kernel's limit on threads is the only
// one.
//
// Errors beside those of Team: failure when the system refuses a thread or a binding. Ranks that had started
// run to their end, the others, the leader included, are not called.
class MILLRACE_EXPORT FreshThreads final : public Team {
 public:
  // A team of `size` >= 1 (less is taken as 1). bindings[i], if there is one and it is not empty, is where
  // the thread of rank i is bound before its work; the leader, who is not made by the team, keeps its own
  // affinity.
  explicit FreshThreads(int size, std::span<const machine::CpuSet> bindings = {});

  [[nodiscard]] int size() const override { return size_; }
  [[nodiscard]] Status run_last(int active, FunctionRef<void(int rank)> fn) override;
  [[nodiscard]] Status run_teams(int parts, FunctionRef<void(int part, Team& team)> fn) override;

 private:
  // Where the thread of `rank` is to be bound; empty for free.
  [[nodiscard]] machine::CpuSet binding(int rank) const;

  int size_;
  std::vector<machine::CpuSet> bindings_;
};

}  // namespace millrace::pool
