// InTurnTeam: a team of any size whose ranks all run on the calling thread, one after another.
#pragma once

#include "millrace/pool/contiguous_part.h"
#include "millrace/pool/team.h"
#include "millrace/pool/team_failure.h"

namespace millrace::pool {

// For work that is divided into more ranks than there are threads. Ranks must not wait for each other. Stores
// only its size, so any thread may use any InTurnTeam at any time, even recursively.
class InTurnTeam final : public Team {
 public:
  // size: at least 1.
  explicit InTurnTeam(int size) : size_(size) {}

  [[nodiscard]] int size() const override { return size_; }

  [[nodiscard]] Status run_last(int active, FunctionRef<void(int rank)> fn) override {
    if (Status counted = check_team_count("ranks", active, size_); !counted) return counted;
    TeamFailure failed;
    for (int rank = size_ - active; rank < size_; ++rank)
      failed.add(rank, caught_from([&] { fn(rank); }));
    return failed.status();
  }

  [[nodiscard]] Status run_teams(int parts, FunctionRef<void(int part, Team& team)> fn) override {
    if (Status counted = check_team_count("teams", parts, size_); !counted) return counted;
    TeamFailure failed;
    for (int part = 0; part < parts; ++part) {
      const Part ranks = contiguous_part(size_, parts, part);
      InTurnTeam team(static_cast<int>(ranks.end - ranks.begin));
      failed.add(part, caught_from([&] { fn(part, team); }));
    }
    return failed.status();
  }

 private:
  int size_;
};

}  // namespace millrace::pool
