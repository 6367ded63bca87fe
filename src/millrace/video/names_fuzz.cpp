// Checks that any text parses, or fails to parse, as a name of numbered files and as a time. A number must
// survive the round trip through the name made from it.
#include "millrace/video/frame/clip_time.h"
#include "millrace/video/sequence_name.h"

#include <cstdint>
#include <cstdlib>
#include <string_view>

// NOLINTNEXTLINE(readability-identifier-naming): the name libFuzzer calls
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace millrace::video;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto time = parse_clip_time(text, "time"); time && *time < 0) std::abort();
  if (const auto sequence = SequenceName::parse(text)) {
    for (const std::int64_t number : {0, 7, 1234567}) {
      const std::string name = sequence->at(number);
      if (sequence->number_of(std::string_view(name).substr(name.rfind('/') + 1)) != number) std::abort();
    }
  }
  return 0;
}
