// Team: a group of threads that work on one task together and wait for each other.
#pragma once

#include "millrace/base/error/export.h"
#include "millrace/base/error/result.h"
#include "millrace/pool/function_ref.h"

namespace millrace::pool {

// A team has size() >= 1 members with ranks 0 .. size()-1. The member with the last rank is the leader: the
// thread that calls run(). Work divided in order therefore leaves the last segment to the thread that reads
// and writes the frames and has them in its caches (execution-structures paper, section IV).
//
// Thread-safety: only the leader may call run(), run_last() and run_teams(), one call at a time. Each
// implementation checks or rules out violations, and documents how.
//
// Errors: exceptions of `fn` never leave the team. All ranks finish first. Then the exception of the lowest
// rank becomes the Error, with its what() in the message. When the call returns, memory written by any rank
// is visible to the leader. Memory written by the leader before the call is visible to every rank.
class MILLRACE_EXPORT Team {
 public:
  virtual ~Team() = default;

  // Number of members, including the leader.
  [[nodiscard]] virtual int size() const = 0;

  // Calls fn(rank) once for each of the last `active` ranks, in parallel, and returns when all are done.
  // Other members are not woken. Requires 1 <= active <= size(); otherwise returns a usage error without a
  // call.
  [[nodiscard]] virtual Status run_last(int active, FunctionRef<void(int rank)> fn) = 0;

  // Splits the team into `parts` teams of contiguous ranks, with sizes that differ by at most one. Calls
  // fn(part, its team) once on the leader of each part, in parallel, and returns when all are done. The
  // caller leads the last part. Each leader may run on its team repeatedly and independently. The teams must
  // not be kept after fn returns. Requires 1 <= parts <= size(); otherwise returns a usage error without a
  // call.
  [[nodiscard]] virtual Status run_teams(int parts, FunctionRef<void(int part, Team& team)> fn) = 0;

  // Calls fn(rank) for every rank.
  [[nodiscard]] Status run(FunctionRef<void(int rank)> fn) { return run_last(size(), fn); }

 protected:
  Team() = default;
  Team(const Team&) = default;
  Team& operator=(const Team&) = default;
};

// Checks that `count` is in [1, size] for run_last and run_teams. `what` is the plural noun in the error.
[[nodiscard]] inline Status check_team_count(const char* what, int count, int size) {
  if (count < 1 || count > size)
    return usage_error("a team of {} cannot run {} {}; give 1 to {}", size, count, what, size);
  return {};
}

}  // namespace millrace::pool
