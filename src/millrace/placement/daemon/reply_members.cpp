#include "millrace/placement/daemon/reply_members.h"

#include "millrace/base/text/printable.h"

#include <algorithm>
#include <cmath>

namespace millrace::placement {

using nlohmann::json;

const json& member(const json& object, const char* key) {
  static const json none;
  if (!object.is_object()) return none;
  const auto found = object.find(key);
  return found == object.end() ? none : *found;
}

std::string text_of(const json& object, const char* key) {
  const auto* const text = member(object, key).get_ptr<const std::string*>();
  return text == nullptr ? "" : printable(*text);
}

double number_of(const json& object, const char* key) {
  const json& value = member(object, key);
  const double number = value.is_number() ? value.get<double>() : 0;
  return std::isfinite(number) ? number : 0;
}

long long whole_of(const json& object, const char* key) {
  constexpr double most = 9e15;
  return std::llround(std::clamp(number_of(object, key), -most, most));
}

bool flag_of(const json& object, const char* key) {
  const json& value = member(object, key);
  return value.is_boolean() && value.get<bool>();
}

const json& list_of(const json& object, const char* key) {
  static const json none = json::array();
  const json& value = member(object, key);
  return value.is_array() ? value : none;
}

}  // namespace millrace::placement
