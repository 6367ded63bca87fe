// without_exceptions(): what a library throws becomes an error.
//
//   Result<Frame> frame = without_exceptions([&] { return reader.next(); });
#pragma once

#include "millrace/base/result.h"

#include <exception>
#include <new>
#include <type_traits>
#include <utility>

namespace millrace {

inline constexpr const char* out_of_memory =
    "out of memory; free some, or raise the limit (ulimit -v, the container's)";

// For the top of a thread, where an exception would end the process with all that other threads do, and for
// calls of other people's code. `work` returns a Result.
template <class Work> [[nodiscard]] std::invoke_result_t<Work> without_exceptions(Work&& work) {
  try {
    return std::forward<Work>(work)();
  } catch (const std::bad_alloc&) {
    return failure("{}", out_of_memory);
  } catch (const std::exception& error) {
    return failure("{}", error.what());
  }
}

}  // namespace millrace
