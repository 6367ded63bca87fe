#include "millrace/base/process/run_guarded.h"

#include "millrace/base/error/without_exceptions.h"
#include "millrace/base/process/rights_of_file.h"
#include "millrace/base/text/error_line.h"

#include <cerrno>
#include <cstdio>
#include <exception>
#include <fcntl.h>
#include <new>
#include <string>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace millrace {
namespace {

int failed(std::string_view program, std::string_view message) noexcept {
  try {
    print_error(program, message);
  } catch (...) {
    // Not even enough memory to format the message.
    std::fputs("out of memory\n", stderr);
  }
  return 1;
}

// If a standard stream is closed, the next file or socket that is opened would take its number and its data.
// The replacement can be neither read nor written. Close-on-exec keeps the stream closed in child programs.
void reserve_standard_streams() {
  for (const auto& [stream, mode] : {std::pair(STDIN_FILENO, O_WRONLY), std::pair(STDOUT_FILENO, O_RDONLY),
                                     std::pair(STDERR_FILENO, O_RDONLY)})
    if (fcntl(stream, F_GETFD) < 0 && errno == EBADF)
      static_cast<void>(open("/dev/null", mode | O_CLOEXEC));  // takes the lowest free number: this one
}

}  // namespace

int run_guarded(std::string_view program, const std::function<int()>& work) noexcept {
  try {
    reserve_standard_streams();
    if (const std::string reason = rights_of_file(); !reason.empty()) {
      print_error(program, reason);
      return exit_code({ErrorKind::usage, reason});
    }
    const int code = work();
    if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return code;
    return code != 0 ? code : failed(program, "standard output cannot be written");
  } catch (const std::bad_alloc&) {
    return failed(program, out_of_memory);
  } catch (const std::system_error& error) {
    // Only thread creation reports this error by exception.
    if (error.code() == std::errc::resource_unavailable_try_again)
      return failed(
          program,
          "no thread can be made; raise the limit of processes, or of memory (ulimit -u, ulimit -v, the "
          "container's)");
    if (error.code() == std::errc::operation_not_permitted)
      return failed(program, "no thread may be made here; let the filter of system calls allow clone3, or "
                             "refuse it as unknown (ENOSYS)");
    return failed(program, error.what());
  } catch (const std::exception& error) {
    return failed(program, error.what());
  } catch (...) {
    return failed(program, "ended by an unknown exception");
  }
}

}  // namespace millrace
