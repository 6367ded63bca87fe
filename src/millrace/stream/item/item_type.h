// ItemType: what the runtime must know of a type to keep and move items of it without knowing it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <type_traits>
#include <utility>

namespace millrace::stream {

// What may travel through a stream: an object that can be moved without failing. Copying is never needed.
template <class T>
concept Item = std::is_object_v<T> && std::is_same_v<T, std::remove_cv_t<T>> &&
               std::is_nothrow_move_constructible_v<T> && std::is_nothrow_destructible_v<T>;

struct ItemType {
  std::size_t size = 0;
  std::size_t alignment = 1;
  void (*destroy)(void* item) = nullptr;
  // Moves the item at `from` to the raw memory at `to` and destroys what is left at `from`.
  void (*relocate)(void* from, void* to) = nullptr;
};

template <Item T> [[nodiscard]] constexpr ItemType item_type() {
  return {sizeof(T), alignof(T), [](void* item) { std::destroy_at(static_cast<T*>(item)); },
          [](void* from, void* to) {
            std::construct_at(static_cast<T*>(to), std::move(*static_cast<T*>(from)));
            std::destroy_at(static_cast<T*>(from));
          }};
}

}  // namespace millrace::stream
