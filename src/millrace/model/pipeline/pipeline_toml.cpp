#include "millrace/model/pipeline/pipeline_toml.h"

#include "millrace/base/text/in_quotes.h"
#include "millrace/base/text/toml_document.h"
#include "millrace/model/pipeline/duration_text.h"

#include <algorithm>
#include <cmath>
#include <optional>

namespace millrace::model {
namespace {

class TomlReader {
 public:
  explicit TomlReader(std::string_view file) : file_(file) {}

  Result<Pipeline> read(const toml::table& root) {
    for (const auto& [key, value] : root) {
      if (key.str() != "stage")
        return error(value, fmt::format("unknown key {}; a pipeline is made of [[stage]] tables",
                                        in_quotes(key.str())));
    }
    const toml::array* stages = root["stage"].as_array();
    if (stages == nullptr)
      return usage_error("{}: no [[stage]] in the file; write one for each stage", file_);
    Pipeline pipeline;
    for (const toml::node& node : *stages) {
      const toml::table* table = node.as_table();
      if (table == nullptr) return error(node, "a stage must be a table; write [[stage]] before it");
      auto read = stage(*table, pipeline.stages.empty());
      if (!read) return std::unexpected(read.error());
      pipeline.stages.push_back(std::move(*read));
    }
    if (const Status possible = check(pipeline); !possible)
      return usage_error("{}: {}", file_, possible.error().message);
    return pipeline;
  }

 private:
  Result<Stage> stage(const toml::table& table, bool first) {
    Stage result{.kind = first ? StageKind::serial : StageKind::parallel};
    std::optional<double> seconds;
    double cv = 1;
    double batch = 1;
    for (const auto& [key, value] : table) {
      Status read;
      if (key == "name")
        read = name(value, result.name);
      else if (key == "kind")
        read = kind(value, result.kind);
      else if (key == "time")
        read = time(value, seconds);
      else if (key == "waits")
        read = flag(value, result.waits);
      else if (key == "cv")
        read = number(key, value, cv);
      else if (key == "outputs")
        read = number(key, value, result.outputs);
      else if (key == "visits")
        read = number(key, value, result.visits);
      else if (key == "batch")
        read = number(key, value, batch);
      else if (key == "slowdown")
        read = number(key, value, result.slowdown);
      else
        read = error(value, fmt::format("unknown key {}; a stage has name, kind, time, cv, outputs, visits, "
                                        "batch, waits, slowdown",
                                        in_quotes(key.str())));
      if (!read) return std::unexpected(read.error());
    }
    if (result.name.empty())
      return error(table, "this stage has no name; write name = \"load\", for example");
    if (!seconds)
      return error(table, fmt::format("stage {} has no time; write time = \"0.5ms\", for example",
                                      in_quotes(result.name)));
    if (batch != std::clamp(std::floor(batch), 1.0, 1e6))
      return error(table, fmt::format("batch must be a whole number from 1 to 1000000, not {}", batch));
    result.batch = static_cast<int>(batch);
    auto service = ServiceTime::with_variation(*seconds, cv);
    if (!service) return error(table, service.error().message);
    result.service = *service;
    return result;
  }

  Status name(const toml::node& value, std::string& into) const {
    const auto text = value.value_exact<std::string>();
    if (!text || text->empty()) return error(value, "name must be text in quotes, and not empty");
    into = *text;
    return {};
  }

  Status kind(const toml::node& value, StageKind& into) const {
    const auto text = value.value_exact<std::string>();
    for (const StageKind known : {StageKind::serial, StageKind::ordered, StageKind::parallel}) {
      if (!text || *text != to_string(known)) continue;
      into = known;
      return {};
    }
    return error(value, R"(kind must be "serial", "ordered" or "parallel")");
  }

  Status time(const toml::node& value, std::optional<double>& into) const {
    const auto text = value.value_exact<std::string>();
    into = text ? parse_seconds(*text) : std::nullopt;
    if (!into) return error(value, R"(time must be a number with its unit in quotes: "0.55ms", "20us")");
    return {};
  }

  Status flag(const toml::node& value, bool& into) const {
    const auto read = value.value_exact<bool>();
    if (!read) return error(value, "waits must be true or false");
    into = *read;
    return {};
  }

  Status number(const toml::key& key, const toml::node& value, double& into) const {
    const auto read = value.is_number() ? value.value<double>() : std::nullopt;
    if (!read || !std::isfinite(*read)) return error(value, fmt::format("{} must be a number", key.str()));
    into = *read;
    return {};
  }

  [[nodiscard]] std::unexpected<Error> error(const toml::node& node, std::string_view message) const {
    return usage_error("{}:{}: {}", file_, node.source().begin.line, message);
  }

  std::string_view file_;
};

}  // namespace

Result<Pipeline> parse_pipeline_toml(std::string_view text, std::string_view file_name) {
  const auto document = parse_toml(text, file_name);
  if (!document) return std::unexpected(document.error());
  return TomlReader(file_name).read(*document);
}

}  // namespace millrace::model
