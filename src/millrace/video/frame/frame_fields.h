// The field order of a single frame, if it differs from the format's. Stored as a property of the frame.
#pragma once

#include "millrace/video/frame/frame.h"

#include <optional>

namespace millrace::video {

// Returns the properties with this field order added.
[[nodiscard]] SharedProperties with_fields(const SharedProperties& properties, FieldOrder order);
// None: the order of the format.
[[nodiscard]] std::optional<FieldOrder> fields_of(const Frame& frame);
// Returns the properties without the field order. Use it for frames that were made from others or are
// written: readers tag such frames, and no writer can store the tag.
[[nodiscard]] SharedProperties without_fields(const SharedProperties& properties);

}  // namespace millrace::video
