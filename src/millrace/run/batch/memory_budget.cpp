#include "millrace/run/batch/memory_budget.h"

namespace millrace::run {

Status MemoryBudget::take(std::uint64_t bytes, const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  const std::uint64_t ticket = next_ticket_++;
  const auto is_turn = [&] {
    return ticket == serving_ && (taken_ == 0 || (taken_ <= all_ && bytes <= all_ - taken_));
  };
  const bool served = changed_.wait(lock, stop, is_turn);
  // A stop ends all waits, so a stopped caller may leave the queue out of order.
  if (!served) return std::unexpected(Error{ErrorKind::interrupted, "stopped while it waited for memory"});
  ++serving_;
  taken_ += bytes;
  changed_.notify_all();
  return {};
}

void MemoryBudget::give_back(std::uint64_t bytes) {
  const std::scoped_lock lock(mutex_);
  taken_ -= bytes;
  changed_.notify_all();
}

std::uint64_t MemoryBudget::left() const {
  const std::scoped_lock lock(mutex_);
  return taken_ < all_ ? all_ - taken_ : 0;
}

}  // namespace millrace::run
