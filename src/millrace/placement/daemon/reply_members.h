// Reads members of the daemon's replies. A member of the wrong type reads as the type's default, because the
// daemon may have another version.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

namespace millrace::placement {

// Returns null if there is no such member.
[[nodiscard]] const nlohmann::json& member(const nlohmann::json& object, const char* key);
// Printable.
[[nodiscard]] std::string text_of(const nlohmann::json& object, const char* key);
[[nodiscard]] double number_of(const nlohmann::json& object, const char* key);
[[nodiscard]] long long whole_of(const nlohmann::json& object, const char* key);
[[nodiscard]] bool flag_of(const nlohmann::json& object, const char* key);
[[nodiscard]] const nlohmann::json& list_of(const nlohmann::json& object, const char* key);

}  // namespace millrace::placement
