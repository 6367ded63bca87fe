#include "millrace/video/frame/own_duration.h"

#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace millrace::video {

std::optional<std::int64_t> own_duration(const Frame& frame) {
  if (!frame.properties) return std::nullopt;
  const auto found = frame.properties->find(own_duration_name);
  std::int64_t duration = 0;
  if (found == frame.properties->end() || found->second.size() != sizeof duration) return std::nullopt;
  std::memcpy(&duration, found->second.data(), sizeof duration);
  return duration > 0 ? std::optional(duration) : std::nullopt;
}

void set_own_duration(Frame& frame, std::int64_t duration) {
  Properties properties = frame.properties ? *frame.properties : Properties{};
  std::vector<std::uint8_t> bytes(sizeof duration);
  std::memcpy(bytes.data(), &duration, sizeof duration);
  properties[std::string(own_duration_name)] = std::move(bytes);
  frame.properties = std::make_shared<const Properties>(std::move(properties));
}

}  // namespace millrace::video
