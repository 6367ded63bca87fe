#include "millrace/video/frame/frame_fields.h"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace millrace::video {
namespace {

constexpr std::string_view fields_property = "field order";

}  // namespace

SharedProperties with_fields(const SharedProperties& properties, FieldOrder order) {
  auto changed = properties ? std::make_shared<Properties>(*properties) : std::make_shared<Properties>();
  (*changed)[std::string(fields_property)] = {static_cast<std::uint8_t>(order)};
  return changed;
}

std::optional<FieldOrder> fields_of(const Frame& frame) {
  if (!frame.properties) return std::nullopt;
  const auto found = frame.properties->find(fields_property);
  if (found == frame.properties->end() || found->second.empty()) return std::nullopt;
  return static_cast<FieldOrder>(found->second.front());
}

SharedProperties without_fields(const SharedProperties& properties) {
  if (!properties || !properties->contains(fields_property)) return properties;
  auto others = std::make_shared<Properties>(*properties);
  others->erase(others->find(fields_property));
  return others->empty() ? nullptr : std::move(others);
}

}  // namespace millrace::video
