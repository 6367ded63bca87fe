// Any line is accepted or refused with a message, and an accepted request has one meaning.
#include "millrace/placement/daemon/daemon_request.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace millrace::placement;
  const auto request = parse_daemon_request({reinterpret_cast<const char*>(data), size});
  if (!request) {
    if (request.error().error.empty() || request.error().message.empty()) std::abort();
    for (const char c : request.error().message)
      if (c >= 0 && c < ' ') std::abort();
    return 0;
  }
  const DaemonTarget& target = request->target;
  if (target.process && (*target.process < 1 || !target.cgroup.empty() || !target.exe.empty())) std::abort();
  return 0;
}
