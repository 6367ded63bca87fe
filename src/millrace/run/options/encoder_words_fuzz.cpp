// Fuzz target: parses any text as a bitrate and as encoder options.
#include "millrace/run/options/run_options.h"

#include <cstdint>
#include <cstdlib>
#include <string>

// NOLINTNEXTLINE(readability-identifier-naming): the name libFuzzer calls
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  if (const auto bitrate = millrace::run::parse_bitrate(text); bitrate && *bitrate < 1) std::abort();
  if (const auto options = millrace::run::parse_encoder_options(text)) {
    std::string again;
    for (const auto& [name, value] : *options)
      again += (again.empty() ? "" : ",") + name + "=" + value;
    if (again != text) std::abort();
  }
  return 0;
}
