// without_exceptions(): turns exceptions into errors.
//
//   Result<Frame> frame = without_exceptions([&] { return reader.next(); });
#pragma once

#include "millrace/base/error/result.h"

#include <exception>
#include <new>
#include <type_traits>
#include <utility>

namespace millrace {

inline constexpr const char* out_of_memory =
    "out of memory; free some, or raise the limit (ulimit -v, the container's)";

// Returns make(), or an error that needs no memory if make() runs out of it.
template <class Make> [[nodiscard]] Error error_from(const Make& make) noexcept {
  try {
    return make();
  } catch (const std::bad_alloc&) {
    return {ErrorKind::failure, "out of memory"};  // short enough for the small-string buffer
  }
}

// A failure with this message.
[[nodiscard]] inline Error failure_saying(const char* words) noexcept {
  return error_from([words] { return Error{ErrorKind::failure, words}; });
}

// For the top of a thread, where an exception would end the whole process, and for calls of third-party code.
// `work` returns a Result. `no_memory`: the message for std::bad_alloc.
template <class Work>
[[nodiscard]] std::invoke_result_t<Work> without_exceptions(Work&& work,
                                                            const char* no_memory = out_of_memory) noexcept {
  try {
    return std::forward<Work>(work)();
  } catch (const std::bad_alloc&) {
    return std::unexpected(failure_saying(no_memory));
  } catch (const std::exception& error) {
    return std::unexpected(failure_saying(error.what()));
  } catch (...) {
    return std::unexpected(failure_saying("an exception of unknown type"));
  }
}

}  // namespace millrace
