// Reads whole numbers from untrusted JSON.
#pragma once

#include <cstdint>
#include <exception>
#include <limits>
#include <string>
#include <utility>

namespace millrace::cluster {

// A value that the JSON library can read, but that makes no sense at its place. Parsers throw it beside the
// library's own exceptions and catch both; it does not leave this module.
class WrongValue : public std::exception {
 public:
  explicit WrongValue(std::string name) : name_(std::move(name)) {}
  [[nodiscard]] const char* what() const noexcept override { return name_.c_str(); }

 private:
  std::string name_;
};

// Throws WrongValue if it is not a whole number or not within [least, most].
template <class Json>
[[nodiscard]] std::int64_t whole_number(const Json& json, const char* name, std::int64_t least,
                                        std::int64_t most = std::numeric_limits<std::int64_t>::max()) {
  // The library's unsigned integers can exceed int64_t.
  const bool fits =
      json.is_number_integer() && (!json.is_number_unsigned() ||
                                   json.template get<std::uint64_t>() <=
                                       static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()));
  if (!fits) throw WrongValue(name);
  const auto value = json.template get<std::int64_t>();
  if (value < least || value > most) throw WrongValue(name);
  return value;
}

}  // namespace millrace::cluster
