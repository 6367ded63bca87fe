#include "millrace/model/pipeline/load_pipeline.h"

#include "millrace/base/file/whole_file.h"
#include "millrace/model/pipeline/pipeline_text.h"
#include "millrace/model/pipeline/pipeline_toml.h"

#include <cstddef>

namespace millrace::model {

Result<Pipeline> load_pipeline(const std::string& text_or_file) {
  constexpr std::size_t most_bytes = std::size_t{64} << 20U;
  if (!text_or_file.ends_with(".toml")) return parse_pipeline_text(text_or_file);
  const auto text = read_text(text_or_file, most_bytes);
  if (!text) return std::unexpected(text.error());
  return parse_pipeline_toml(*text, text_or_file);
}

}  // namespace millrace::model
