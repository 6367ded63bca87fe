// Where the members of a structure lie in a file: said once, for writing and for reading.
#pragma once

#include "millrace/base/little_endian.h"

#include <cstddef>
#include <span>
#include <tuple>
#include <type_traits>

namespace millrace {

// A number, or an enumeration of a fixed type, from byte `at` on.
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

// The least byte first. Bytes that no member has stay as they are.
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

// Members that the layout leaves out are as they are made. An enumeration may have any value of its type.
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
