#include "millrace/stream/order/cut.h"

#include "millrace/stream/item/out_of_memory.h"

#include <algorithm>
#include <utility>

#include <fmt/ranges.h>

namespace millrace::stream {

SequenceNumber sequence_number(const Token& token) {
  SequenceNumber number;
  for (const Token* part = &token; part; part = part->parent)
    number.push_back(part->index);
  std::ranges::reverse(number);
  return number;
}

std::string to_string(const SequenceNumber& number) { return fmt::format("{}", fmt::join(number, ".")); }

bool Cut::puts_behind(const SequenceNumber& number) const {
  if (!at_) return false;
  const auto [cut, other] = std::ranges::mismatch(*at_, number);
  return cut != at_->end() && other != number.end() && *cut < *other;
}

bool Cut::puts_behind(const Token& token) const {
  if (puts_all_behind()) return true;
  const std::lock_guard lock(mutex_);
  if (!at_) return false;
  // As above, but without copying the number, which might fail for lack of memory. Goes from the last part to
  // the first, so the difference found last decides.
  std::size_t parts = 0;
  for (const Token* part = &token; part; part = part->parent)
    ++parts;
  bool behind = false;
  for (const Token* part = &token; part; part = part->parent) {
    if (--parts >= at_->size()) continue;
    const std::uint64_t cut = (*at_)[parts];
    if (part->index != cut) behind = cut < part->index;
  }
  return behind;
}

void Cut::make(SequenceNumber number, std::optional<Error> error, std::string where,
               std::exception_ptr thrown) {
  const std::lock_guard lock(mutex_);
  if (puts_behind(number)) return;
  at_ = std::move(number);
  error_ = std::move(error);
  where_ = std::move(where);
  thrown_ = std::move(thrown);
  made_.store(true, std::memory_order_relaxed);
}

void Cut::stop() {
  stopped_.store(true, std::memory_order_relaxed);
  made_.store(true, std::memory_order_relaxed);
}

void Cut::give_up() {
  given_up_.store(true, std::memory_order_relaxed);
  made_.store(true, std::memory_order_relaxed);
}

Status Cut::status() const {
  if (puts_all_behind()) return std::unexpected(cause());
  const std::lock_guard lock(mutex_);
  if (!error_) return {};
  return std::unexpected(Error{error_->kind, where_ + error_->message});
}

Error Cut::cause() const {
  if (stopped()) return {ErrorKind::interrupted, "the stream was stopped before its end"};
  if (given_up_.load(std::memory_order_relaxed)) return out_of_memory();
  const std::lock_guard lock(mutex_);
  return error_.value_or(Error{});
}

std::exception_ptr Cut::exception() const {
  if (puts_all_behind()) return nullptr;
  const std::lock_guard lock(mutex_);
  return thrown_;
}

}  // namespace millrace::stream
