#include "millrace/stream/item/token_store.h"

#include "millrace/stream/item/aligned_memory.h"

#include <algorithm>
#include <new>
#include <utility>

namespace millrace::stream {
namespace {

constexpr std::size_t cache_line = 64;

constexpr std::size_t rounded_up(std::size_t bytes, std::size_t alignment) {
  return (bytes + alignment - 1) / alignment * alignment;
}

}  // namespace

TokenStore::TokenStore(std::span<const ItemType> types) {
  std::size_t size = 1;
  std::size_t item_alignment = 1;
  for (const ItemType& type : types) {
    size = std::max(size, type.size);
    item_alignment = std::max(item_alignment, type.alignment);
  }
  layout_.offset = static_cast<std::uint32_t>(rounded_up(sizeof(Token), item_alignment));
  layout_.stride = static_cast<std::uint32_t>(rounded_up(size, item_alignment));
  // Whole cache lines, so that tokens of different threads do not share one.
  alignment_ = std::max(cache_line, item_alignment);
  token_bytes_ = rounded_up(layout_.offset + std::size_t{2} * layout_.stride, alignment_);
}

TokenStore::~TokenStore() { destroy(free_); }

void TokenStore::destroy(Token* list) const {
  while (list) {
    Token* const token = std::exchange(list, list->next);
    token->~Token();
    delete_aligned(token);
  }
}

Token* TokenStore::take(int wanted, int& taken) {
  const std::lock_guard lock(mutex_);
  Token* list = nullptr;
  for (taken = 0; taken < wanted && free_; ++taken) {
    Token* const token = std::exchange(free_, free_->next);
    token->next = std::exchange(list, token);
  }
  return list;
}

void TokenStore::give(Token* list) {
  if (!list) return;
  Token* last = list;
  while (last->next)
    last = last->next;
  const std::lock_guard lock(mutex_);
  last->next = std::exchange(free_, list);
}

TokenStore::Cache::~Cache() { store_->give(free_); }

Token* TokenStore::Cache::make_more() {
  free_ = store_->take(batch, count_);
  if (free_) return make();
  return new (new_aligned(store_->token_bytes_, store_->alignment_)) Token(store_->layout_);
}

void TokenStore::Cache::give_some() {
  Token* kept = free_;
  for (int i = 1; i < batch; ++i)
    kept = kept->next;
  store_->give(std::exchange(kept->next, nullptr));
  count_ = batch;
}

}  // namespace millrace::stream
