// UserBudget: limits the CPU time that each user may cause; users who exceed it must wait. Pure.
//
//   budget.charge(peer.user, took_ns, now_ns);
//   if (budget.rests(peer.user, now_ns)) ...   // not served before next_ns()
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include <sys/types.h>

namespace millrace::placement {

// A user pays for each nanosecond of CPU time with `time_for_each` of waiting, so a user gets at most one of
// every `time_for_each`. Not thread-safe.
class UserBudget {
 public:
  struct Limits {
    std::int64_t time_for_each = 5;
    std::int64_t free_ns = 2'000'000;              // CPU time that is free before a user has to wait
    std::int64_t longest_rest_ns = 5'000'000'000;  // a limit, so that nobody is locked out for long
  };
  UserBudget() : UserBudget(Limits{}) {}
  explicit UserBudget(const Limits& limits) : limits_(limits) {}

  void charge(uid_t user, std::int64_t cpu_ns, std::int64_t now_ns);
  [[nodiscard]] bool rests(uid_t user, std::int64_t now_ns) const;
  // When the first waiting user may go on; empty if no user is waiting.
  [[nodiscard]] std::optional<std::int64_t> next_ns(std::int64_t now_ns) const;

 private:
  [[nodiscard]] std::int64_t free_until(std::int64_t paid_ns) const;

  Limits limits_;
  std::map<uid_t, std::int64_t> paid_ns_;  // when each user will have paid; users who have paid are removed
};

}  // namespace millrace::placement
