// UserBudget: how much CPU time each user may cause, and who has to wait after having caused more. Pure.
//
//   budget.charge(peer.user, took_ns, now_ns);
//   if (budget.rests(peer.user, now_ns)) ...   // not served before next_ns()
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include <sys/types.h>

namespace millrace::placement {

// Whoever causes CPU time pays for each nanosecond with `time_for_each` of waiting, so a user gets one of
// every `time_for_each` at most. Used by one thread.
class UserBudget {
 public:
  struct Limits {
    std::int64_t time_for_each = 5;
    std::int64_t free_ns = 2'000'000;              // of CPU time, at once, before anybody has to wait
    std::int64_t longest_rest_ns = 5'000'000'000;  // so that nobody is locked out for long
  };
  UserBudget() : UserBudget(Limits{}) {}
  explicit UserBudget(const Limits& limits) : limits_(limits) {}

  void charge(uid_t user, std::int64_t cpu_ns, std::int64_t now_ns);
  [[nodiscard]] bool rests(uid_t user, std::int64_t now_ns) const;
  // When the first of those who rest may go on; nothing where nobody rests.
  [[nodiscard]] std::optional<std::int64_t> next_ns(std::int64_t now_ns) const;

 private:
  [[nodiscard]] std::int64_t free_until(std::int64_t paid_ns) const;

  Limits limits_;
  std::map<uid_t, std::int64_t> paid_ns_;  // by when a user has paid; those who have are forgotten
};

}  // namespace millrace::placement
