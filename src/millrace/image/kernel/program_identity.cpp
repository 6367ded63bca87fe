#include "millrace/image/kernel/program_identity.h"

#include "millrace/base/process/loaded_object.h"

#include <HalideRuntime.h>

#include <fmt/format.h>

namespace millrace::image {

std::string program_identity() {
  static const int own = 0;
  const auto object = loaded_object_of(&own);
  if (!object || object->build_id.empty()) return {};
  return fmt::format("{} Halide {}.{}.{}", object->build_id, HALIDE_VERSION_MAJOR, HALIDE_VERSION_MINOR,
                     HALIDE_VERSION_PATCH);
}

}  // namespace millrace::image
