#include "millrace/run/options/check_outputs.h"

#include "millrace/base/text/in_quotes.h"
#include "millrace/video/sequence_writer.h"
#include "millrace/video/writer.h"

#include <array>
#include <cstddef>
#include <span>
#include <unistd.h>

namespace millrace::run {
namespace {

// The base module only knows single files.
Status check_pictures(std::span<const NamedPath> inputs, std::span<const NamedPath> outputs) {
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const auto& [role, path] = outputs[i];
    for (const NamedPath& input : inputs)
      if (video::share_pictures(path, input.path))
        return usage_error("{}: {} may write what {} {} reads; choose another output", path, role, input.role,
                           in_quotes(input.path));
    for (const NamedPath& other : outputs.first(i))
      if (video::share_pictures(path, other.path))
        return usage_error("{}: {} may write what {} {} writes; give one of them another file", path, role,
                           other.role, in_quotes(other.path));
  }
  return {};
}

}  // namespace

NamedPath pipeline_file(const std::string& pipeline) {
  const bool is_file = !pipeline.starts_with('@') && pipeline.ends_with(".toml");
  return {"PIPELINE", is_file ? pipeline : ""};
}

Status check_outputs(const RunOptions& options) {
  const bool makes_video = !options.measure && !options.count;
  if (makes_video && options.output.empty())
    return usage_error("the run has no output; give -o FILE (as -o out.mp4), or -o null to keep nothing");
  if (makes_video && options.output == "-" && isatty(STDOUT_FILENO) == 1)
    return usage_error(
        "-o -: standard output is a terminal, which cannot show video; give -o FILE, or a pipe "
        "as in -o - | ffplay -");
  const bool writes_video = makes_video && options.output != "null";
  const std::array<NamedPath, 3> inputs{
      {{"INPUT", options.input}, {"SECOND", options.second}, pipeline_file(options.pipeline)}};
  const std::array<NamedPath, 4> outputs{{{"-o", writes_video ? options.output : ""},
                                          {"--json", options.json},
                                          {"--report", options.report},
                                          {"--trace", options.trace}}};
  if (Status apart = check_pictures(inputs, outputs); !apart) return apart;
  const NamedPath first_file = {"-o", writes_video ? video::first_file_of(options.output) : ""};
  return millrace::check_outputs({first_file, outputs[1], outputs[2], outputs[3]},
                                 overwrite_if(options.force), inputs);
}

}  // namespace millrace::run
