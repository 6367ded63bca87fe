// ItemType: how to keep and move items of a type that the runtime does not know.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <type_traits>
#include <utility>

namespace millrace::stream {

// A type that may travel through a stream: an object whose move cannot fail. Items are never copied.
template <class T>
concept Item = std::is_object_v<T> && std::is_same_v<T, std::remove_cv_t<T>> &&
               std::is_nothrow_move_constructible_v<T> && std::is_nothrow_destructible_v<T>;

struct ItemType {
  std::size_t size = 0;
  std::size_t alignment = 1;
  void (*destroy)(void* item) = nullptr;
  // Moves the item at `from` to raw memory at `to` and destroys the moved-from object.
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
