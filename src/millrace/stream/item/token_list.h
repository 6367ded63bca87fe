// TokenList: an intrusive list of tokens.
#pragma once

#include "millrace/stream/item/token.h"

#include <utility>

namespace millrace::stream {

// Linked through Token::next, so adding a token needs no memory and cannot fail. A token is in one list at a
// time. Does not own its tokens. Not thread-safe.
class TokenList {
 public:
  TokenList() = default;
  TokenList(TokenList&& other) noexcept
      : first_(std::exchange(other.first_, nullptr)), last_(std::exchange(other.last_, nullptr)) {}
  TokenList& operator=(TokenList&& other) noexcept {
    first_ = std::exchange(other.first_, nullptr);
    last_ = std::exchange(other.last_, nullptr);
    return *this;
  }
  ~TokenList() = default;

  [[nodiscard]] bool empty() const { return !first_; }
  // Null if empty. A token's successor is its `next`.
  [[nodiscard]] Token* front() const { return first_; }
  [[nodiscard]] Token* back() const { return last_; }

  void push_back(Token* token) {
    token->next = nullptr;
    (first_ ? last_->next : first_) = token;
    last_ = token;
  }
  void push_front(Token* token) {
    token->next = std::exchange(first_, token);
    if (!last_) last_ = token;
  }
  // Null if empty.
  [[nodiscard]] Token* pop_front() {
    Token* const token = first_;
    if (token) first_ = token->next;
    if (!first_) last_ = nullptr;
    return token;
  }
  // The first token for which `matches` is true. Null if there is none.
  template <class Matches> [[nodiscard]] Token* pop_first(const Matches& matches) {
    Token* before = nullptr;
    for (Token* token = first_; token; before = std::exchange(token, token->next)) {
      if (!matches(*token)) continue;
      (before ? before->next : first_) = token->next;
      if (last_ == token) last_ = before;
      return token;
    }
    return nullptr;
  }
  // Moves all of `other` to the end, in order. `other` is empty afterwards.
  void append(TokenList&& other) {
    if (other.empty()) return;
    (first_ ? last_->next : first_) = other.first_;
    last_ = std::exchange(other.last_, nullptr);
    other.first_ = nullptr;
  }
  // The same, at the front.
  void prepend(TokenList&& other) {
    other.append(std::move(*this));
    *this = std::move(other);
  }
  void reverse() {
    TokenList reversed;
    while (Token* const token = pop_front())
      reversed.push_front(token);
    *this = std::move(reversed);
  }

 private:
  Token* first_ = nullptr;
  Token* last_ = nullptr;
};

}  // namespace millrace::stream
