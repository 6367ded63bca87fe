// Properties: metadata of a video or a frame besides samples, size and times.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace millrace::video {

// Values by name, such as "Mastering display metadata". The bytes are opaque unless the code knows the name.
// All properties go from input to output, except those that an operation knows to have become wrong.
using Properties = std::map<std::string, std::vector<std::uint8_t>, std::less<>>;

// Shared, because most frames of a video have the same properties. Null: none.
using SharedProperties = std::shared_ptr<const Properties>;

}  // namespace millrace::video
