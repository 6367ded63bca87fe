// Reads whole numbers from untrusted JSON.
#pragma once

#include <cstdint>
#include <limits>
#include <string>

namespace millrace::cluster {

// Throws `name` as a std::string if it is not a whole number or not within [least, most].
template <class Json>
[[nodiscard]] std::int64_t whole_number(const Json& json, const char* name, std::int64_t least,
                                        std::int64_t most = std::numeric_limits<std::int64_t>::max()) {
  // The library's unsigned integers can exceed int64_t.
  const bool fits =
      json.is_number_integer() && (!json.is_number_unsigned() ||
                                   json.template get<std::uint64_t>() <=
                                       static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()));
  if (!fits) throw std::string(name);
  const auto value = json.template get<std::int64_t>();
  if (value < least || value > most) throw std::string(name);
  return value;
}

}  // namespace millrace::cluster
