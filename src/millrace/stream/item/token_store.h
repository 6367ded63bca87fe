// TokenStore: recycles the memory of tokens.
#pragma once

#include "millrace/stream/item/item_type.h"
#include "millrace/stream/item/token.h"

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <utility>

namespace millrace::stream {

// The free tokens that threads pass to each other. They are shared because a token is often retired by a
// thread other than the one that makes the next. Thread-safe. Must outlive its caches.
class TokenStore {
 public:
  // For tokens that can carry any of `types`.
  explicit TokenStore(std::span<const ItemType> types);
  ~TokenStore();
  TokenStore(const TokenStore&) = delete;
  TokenStore& operator=(const TokenStore&) = delete;

  // Size of a token with its item.
  [[nodiscard]] std::size_t token_bytes() const { return token_bytes_; }

  // One thread's share. Not thread-safe.
  class Cache {
   public:
    explicit Cache(TokenStore& store) : store_(&store) {}
    ~Cache();
    Cache(const Cache&) = delete;
    Cache& operator=(const Cache&) = delete;

    // A token without an item and with one hold.
    [[nodiscard]] Token* make() {
      if (!free_) return make_more();
      --count_;
      return std::exchange(free_, free_->next);
    }
    // Takes back a token that has no item and is in no list.
    void recycle(Token* token) {
      // relaxed: no other thread can reach the token now.
      token->holds.store(1, std::memory_order_relaxed);
      token->position = 0;
      token->next_ordinal = 0;
      token->admitted = false;
      token->half = 0;
      token->parent = nullptr;
      token->bytes = 0;
      token->waiting_since_ns = 0;
      if (token->children != 0) {
        token->children = 0;
        token->slots.reset();
        token->window.reset();
      }
      token->next = std::exchange(free_, token);
      if (++count_ == 2 * batch) give_some();
    }

   private:
    // A cache keeps at most twice as many. Tokens move to and from the store in batches, so its lock is
    // rarely taken.
    static constexpr int batch = 32;

    [[nodiscard]] Token* make_more();
    void give_some();

    TokenStore* store_;
    Token* free_ = nullptr;
    int count_ = 0;
  };

 private:
  // Takes up to `wanted` tokens as a list, which may be empty.
  [[nodiscard]] Token* take(int wanted, int& taken);
  void give(Token* list);
  void destroy(Token* list) const;

  PayloadLayout layout_;
  std::size_t alignment_;
  std::size_t token_bytes_;
  std::mutex mutex_;
  Token* free_ = nullptr;
};

}  // namespace millrace::stream
