// Any file is accepted or refused with one line.
#include "millrace/placement/daemon/daemon_settings.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace millrace::placement;
  const auto settings = parse_daemon_settings({reinterpret_cast<const char*>(data), size}, "file");
  if (!settings) {
    if (!settings.error().message.starts_with("file:")) std::abort();
    return 0;
  }
  static_cast<void>(settings->acts_on({.user = 1, .exe = "/usr/bin/x264", .cgroup = "/user.slice"}));
  return 0;
}
