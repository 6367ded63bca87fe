// No text may crash the parser. An error is one printable line. A pipeline that parses has a canonical
// spelling and a TOML file with the same meaning.
#include "millrace/image/pipeline/pipeline_language.h"
#include "millrace/image/pipeline/pipeline_toml.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer looks for this name.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace millrace::image;
  const std::string text(data, data + size);
  const auto pipeline = parse_pipeline(text);
  if (!pipeline) {
    const std::string& message = pipeline.error().message;
    require(!message.empty() && std::ranges::all_of(message, [](char c) { return c >= ' ' && c <= '~'; }));
    return 0;
  }
  const auto canonical_text = to_language(*pipeline);
  require(canonical_text.has_value());
  require(canonical(*pipeline) == *pipeline);
  const auto again = parse_pipeline(*canonical_text);
  require(again && *again == *pipeline);
  const auto from_file = parse_pipeline_toml(to_toml(*pipeline), "fuzz.toml");
  require(from_file && *from_file == *pipeline);
  return 0;
}
