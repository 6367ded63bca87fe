// What a reply of the daemon says: members of the type that is wanted, else its default, as another version
// of the daemon may have answered.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

namespace millrace::placement {

// Null where there is none.
[[nodiscard]] const nlohmann::json& member(const nlohmann::json& object, const char* key);
// Fit to be shown.
[[nodiscard]] std::string text_of(const nlohmann::json& object, const char* key);
[[nodiscard]] double number_of(const nlohmann::json& object, const char* key);
[[nodiscard]] long long whole_of(const nlohmann::json& object, const char* key);
[[nodiscard]] bool flag_of(const nlohmann::json& object, const char* key);
[[nodiscard]] const nlohmann::json& list_of(const nlohmann::json& object, const char* key);

}  // namespace millrace::placement
