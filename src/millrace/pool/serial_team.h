// SerialTeam: a team that consists of the calling thread. For a single worker, and for tests of code that
// runs on a team.
#pragma once

#include "millrace/pool/team.h"
#include "millrace/pool/team_failure.h"

namespace millrace::pool {

// Stateless: any thread may use any SerialTeam at any time, even recursively.
class SerialTeam final : public Team {
 public:
  [[nodiscard]] int size() const override { return 1; }

  [[nodiscard]] Status run_last(int active, FunctionRef<void(int rank)> fn) override {
    if (Status counted = check_team_count("ranks", active, 1); !counted) return counted;
    return status_of([&] { fn(0); });
  }

  [[nodiscard]] Status run_teams(int parts, FunctionRef<void(int part, Team& team)> fn) override {
    if (Status counted = check_team_count("teams", parts, 1); !counted) return counted;
    return status_of([&] { fn(0, *this); });
  }

 private:
  template <class Call> static Status status_of(Call&& call) {
    TeamFailure failed;
    failed.add(0, caught_from(call));
    return failed.status();
  }
};

}  // namespace millrace::pool
