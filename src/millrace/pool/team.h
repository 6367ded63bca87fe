// Team: a group of threads that work on one thing together and wait for each other.
#pragma once

#include "millrace/base/export.h"
#include "millrace/base/result.h"
#include "millrace/pool/function_ref.h"

namespace millrace::pool {

// A team has size() >= 1 members with ranks 0 .. size()-1. The member of the last rank is the leader: the
// thread that calls run(). Work divided in order therefore leaves the last segment to the thread that reads
// and writes the frames, whose caches hold them (execution-structures paper, section IV).
//
// Thread-safety: only the leader may call the members that run something, one call at a time. Implementations
// check it or rule it out, and say how.
//
// Errors: an exception that leaves `fn` never leaves the team. All ranks finish first; then the exception of
// the lowest rank becomes the Error (its what() in the message). Memory written by any rank is visible to the
// leader when the call returns, and what the leader wrote before the call is visible to every rank.
class MILLRACE_EXPORT Team {
 public:
  virtual ~Team() = default;

  // Number of members, the leader included.
  [[nodiscard]] virtual int size() const = 0;

  // Calls fn(rank) once for each of the last `active` ranks, side by side, and returns when all are done. The
  // other members are not woken. 1 <= active <= size(), else a usage error and no call.
  [[nodiscard]] virtual Status run_last(int active, FunctionRef<void(int rank)> fn) = 0;

  // Splits the team into `parts` teams of contiguous ranks, sizes differing by at most one, and calls
  // fn(part, its team) once on the leader of each, side by side; returns when all are done. The caller leads
  // the last part. Each leader may run on its team, again and again, independently of the others; the teams
  // given to fn must not be kept after it returns. 1 <= parts <= size(), else a usage error and no call.
  [[nodiscard]] virtual Status run_teams(int parts, FunctionRef<void(int part, Team& team)> fn) = 0;

  // Calls fn(rank) for every rank.
  [[nodiscard]] Status run(FunctionRef<void(int rank)> fn) { return run_last(size(), fn); }

 protected:
  Team() = default;
  Team(const Team&) = default;
  Team& operator=(const Team&) = default;
};

// What run_last and run_teams answer to a count outside [1, size]; `what` is the plural of what is counted.
[[nodiscard]] inline Status check_team_count(const char* what, int count, int size) {
  if (count < 1 || count > size)
    return usage_error("a team of {} cannot run {} {}; give 1 to {}", size, count, what, size);
  return {};
}

}  // namespace millrace::pool
