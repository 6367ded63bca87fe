#include "millrace/base/text/toml_document.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

namespace {

std::size_t levels_of(const toml::node& node) {
  std::size_t deepest = 0;
  if (const auto* const table = node.as_table())
    for (const auto& [key, value] : *table)
      deepest = std::max(deepest, levels_of(value));
  if (const auto* const list = node.as_array())
    for (const auto& value : *list)
      deepest = std::max(deepest, levels_of(value));
  return deepest + 1;
}

}  // namespace

// Every accepted document respects the nesting limit. The limit is checked without the parser, so the two
// must agree on strings, comments and line ends.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto read = millrace::parse_toml(text, "fuzz.toml");
  if (!read) {
    if (read.error().message.find('\n') != std::string::npos) std::abort();
    return 0;
  }
  // The root table counts as a level.
  if (levels_of(*read) > 2 * millrace::most_toml_levels + 2) std::abort();
  return 0;
}
