// What a run that finds no memory ends with.
#pragma once

#include "millrace/base/result.h"

#include <new>

namespace millrace::stream {

// What make() returns; where there is no memory for that, an error that needs none.
template <class Make> [[nodiscard]] Error error_from(const Make& make) noexcept {
  try {
    return make();
  } catch (const std::bad_alloc&) {
    return {ErrorKind::failure, "out of memory"};  // short enough for a string's own buffer
  }
}

[[nodiscard]] inline Error out_of_memory() noexcept {
  return error_from([] {
    return Error{ErrorKind::failure, "out of memory; use fewer threads or tokens, or a smaller byte budget"};
  });
}

}  // namespace millrace::stream
