#include "millrace/placement/daemon/user_budget.h"

#include <algorithm>

namespace millrace::placement {

void UserBudget::charge(uid_t user, std::int64_t cpu_ns, std::int64_t now_ns) {
  std::erase_if(paid_ns_, [&](const auto& entry) { return entry.second <= now_ns; });
  std::int64_t& paid_ns = paid_ns_.try_emplace(user, now_ns).first->second;
  // Clamped before multiplying, so that nothing overflows.
  const std::int64_t most = limits_.longest_rest_ns + limits_.free_ns * limits_.time_for_each;
  const std::int64_t price = std::clamp<std::int64_t>(cpu_ns, 0, most) * limits_.time_for_each;
  paid_ns = std::min(paid_ns + price, now_ns + most);
}

std::int64_t UserBudget::free_until(std::int64_t paid_ns) const {
  return paid_ns - limits_.free_ns * limits_.time_for_each;
}

bool UserBudget::rests(uid_t user, std::int64_t now_ns) const {
  const auto found = paid_ns_.find(user);
  return found != paid_ns_.end() && now_ns < free_until(found->second);
}

std::optional<std::int64_t> UserBudget::next_ns(std::int64_t now_ns) const {
  std::optional<std::int64_t> next;
  for (const auto& [user, paid_ns] : paid_ns_)
    if (const std::int64_t until = free_until(paid_ns); until > now_ns)
      next = std::min(next.value_or(until), until);
  return next;
}

}  // namespace millrace::placement
