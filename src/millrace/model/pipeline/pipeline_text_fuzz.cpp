#include "millrace/model/pipeline/pipeline_text.h"
#include "millrace/model/pipeline/pipeline_toml.h"
#include "millrace/model/pipeline/recorded_run.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>

// Any input gives a one-line error, or a pipeline that can be modelled.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace millrace;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto require = [](const Result<model::Pipeline>& pipeline) {
    if (pipeline ? !model::check(*pipeline) : pipeline.error().message.find('\n') != std::string::npos)
      std::abort();
  };
  require(model::parse_pipeline_text(text));
  require(model::parse_pipeline_toml(text, "fuzz.toml"));
  const auto run = model::parse_recorded_run(text, "fuzz.json");
  if (run && !model::check(run->pipeline)) std::abort();
  return 0;
}
