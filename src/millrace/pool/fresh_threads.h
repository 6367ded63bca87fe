// FreshThreads: a team that creates threads for every run and joins them afterwards. The classical baseline
// of the execution-structures paper.
#pragma once

#include "millrace/base/error/export.h"
#include "millrace/base/error/result.h"
#include "millrace/machine/cpus/cpu_set.h"
#include "millrace/pool/team.h"

#include <cstddef>
#include <span>
#include <vector>

namespace millrace::pool {

// run_last(n) creates and joins n-1 threads; the calling thread has the last rank. Runs share no threads, so
// any number may be active at once, from any threads, up to the kernel's thread limit.
//
// In addition to Team's errors, a run fails if the system refuses to create or pin a thread. Ranks that have
// started run to the end; the others, including the leader, are not called.
class MILLRACE_EXPORT FreshThreads final : public Team {
 public:
  // A team of `size` >= 1 (smaller values count as 1). The thread of rank i is pinned to bindings[i] if that
  // exists and is not empty. The leader keeps its own affinity, because the team does not create it.
  explicit FreshThreads(int size, std::span<const machine::CpuSet> bindings = {});

  [[nodiscard]] int size() const override { return size_; }
  [[nodiscard]] Status run_last(int active, FunctionRef<void(int rank)> fn) override;
  [[nodiscard]] Status run_teams(int parts, FunctionRef<void(int part, Team& team)> fn) override;

 private:
  // The CPUs to pin the thread of `rank` to; empty if it is not pinned.
  [[nodiscard]] machine::CpuSet binding(int rank) const;

  int size_;
  std::vector<machine::CpuSet> bindings_;
};

}  // namespace millrace::pool
