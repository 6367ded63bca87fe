// What comes with a video or a frame beside its samples, size and times.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace millrace::video {

// Values by name, in bytes that only those understand who know the name: "Mastering display metadata". All of
// it travels from input to output, unless an operation removes or changes what it knows to be no longer true.
using Properties = std::map<std::string, std::vector<std::uint8_t>, std::less<>>;

// Shared, as most frames of a video have the same, or none: null.
using SharedProperties = std::shared_ptr<const Properties>;

}  // namespace millrace::video
