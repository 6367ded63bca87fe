#include "millrace/stream/cut.h"

#include <algorithm>
#include <utility>

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
  if (stopped()) return true;
  const std::lock_guard lock(mutex_);
  return puts_behind(sequence_number(token));
}

void Cut::make(SequenceNumber number, std::optional<Error> error, std::string where) {
  const std::lock_guard lock(mutex_);
  if (puts_behind(number)) return;
  at_ = std::move(number);
  error_ = std::move(error);
  where_ = std::move(where);
  made_.store(true, std::memory_order_relaxed);
}

void Cut::stop() {
  stopped_.store(true, std::memory_order_relaxed);
  made_.store(true, std::memory_order_relaxed);
}

Status Cut::status() const {
  if (stopped()) return std::unexpected(cause());
  const std::lock_guard lock(mutex_);
  if (!error_) return {};
  return std::unexpected(Error{error_->kind, where_ + error_->message});
}

Error Cut::cause() const {
  if (stopped()) return {ErrorKind::interrupted, "the stream was stopped before its end"};
  const std::lock_guard lock(mutex_);
  return error_.value_or(Error{});
}

}  // namespace millrace::stream
