// Bytes as Base64 text.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace millrace {

// With padding and without line breaks: "aGk=" for "hi".
[[nodiscard]] std::string base64(std::span<const std::byte> bytes);

}  // namespace millrace
