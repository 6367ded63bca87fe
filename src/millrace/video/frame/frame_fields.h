// The order of fields of a single frame, where it is not that of its format: one of the frame's properties.
#pragma once

#include "millrace/video/frame/frame.h"

#include <optional>

namespace millrace::video {

// What a frame has beside its samples, and this order.
[[nodiscard]] SharedProperties with_fields(const SharedProperties& properties, FieldOrder order);
// None: it is as its format says.
[[nodiscard]] std::optional<FieldOrder> fields_of(const Frame& frame);
// For what was made of the frame, or is written: readers name such frames, and no writer has a place for it.
[[nodiscard]] SharedProperties without_fields(const SharedProperties& properties);

}  // namespace millrace::video
