// Declares the byte layout of a structure in a file once, for both writing and reading.
#pragma once

#include "millrace/base/numbers/little_endian.h"

#include <cstddef>
#include <span>
#include <tuple>
#include <type_traits>

namespace millrace {

// A number, or an enumeration with a fixed underlying type, at byte offset `at`.
template <class Object, class Member>
  requires FileNumber<Member> || std::is_enum_v<Member>
struct PlacedMember {
  std::size_t at;
  Member Object::* member;
};

namespace file_layout {

template <class Member> struct Stored {
  using Type = Member;
};
template <class Member>
  requires std::is_enum_v<Member>
struct Stored<Member> {
  using Type = std::underlying_type_t<Member>;
};

}  // namespace file_layout

// Little-endian. Bytes outside all members stay unchanged.
template <class Object, class... Members>
constexpr void put_members(std::span<std::byte> bytes, const Object& object,
                           const std::tuple<PlacedMember<Object, Members>...>& layout) {
  std::apply(
      [&](const auto&... placed) {
        (put_little_endian(bytes, placed.at,
                           static_cast<file_layout::Stored<Members>::Type>(object.*placed.member)),
         ...);
      },
      layout);
}

// Members that are missing from the layout keep their default. An enumeration may hold any value of its
// underlying type.
template <class Object, class... Members>
[[nodiscard]] constexpr Object get_members(std::span<const std::byte> bytes,
                                           const std::tuple<PlacedMember<Object, Members>...>& layout) {
  Object object;
  std::apply(
      [&](const auto&... placed) {
        ((object.*placed.member = static_cast<Members>(
              get_little_endian<typename file_layout::Stored<Members>::Type>(bytes, placed.at))),
         ...);
      },
      layout);
  return object;
}

}  // namespace millrace
