#include "skipline/strip_threads.h"

#include <exception>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

namespace millrace::skipline {

Status for_each_strip(int strips, const std::function<void(int strip)>& work, const AtBirth& at_birth) {
  std::vector<std::string> errors(static_cast<std::size_t>(strips));
  const auto run = [&](int strip) {
    try {
      if (at_birth) at_birth(strip);
      work(strip);
    } catch (const std::exception& error) {
      errors[static_cast<std::size_t>(strip)] = error.what();
    }
  };
  try {
    std::vector<std::jthread> threads;  // joined by their destructors
    threads.reserve(static_cast<std::size_t>(strips));
    for (int strip = 0; strip < strips; ++strip)
      threads.emplace_back(run, strip);
  } catch (const std::system_error& error) {
    return failure(
        "the system refuses {} threads ({}); raise its limit (ulimit -u, the container's), or encode "
        "with fewer --threads",
        strips, error.what());
  }
  for (int strip = 0; strip < strips; ++strip)
    if (const std::string& error = errors[static_cast<std::size_t>(strip)]; !error.empty())
      return failure("strip {}: {}", strip, error);
  return {};
}

}  // namespace millrace::skipline
