#include "millrace/image/pipeline/pipeline_toml.h"

#include "millrace/base/file/whole_file.h"
#include "millrace/base/text/in_quotes.h"
#include "millrace/base/text/nearest_name.h"
#include "millrace/base/text/toml_document.h"
#include "millrace/image/filter/arguments.h"
#include "millrace/image/filters/named_filters.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace millrace::image {
namespace {

constexpr std::string_view source_name = "source";
constexpr std::string_view second_name = "second";
constexpr std::array<std::string_view, 4> stage_keys{"filter", "name", "input", "inputs"};

// A value roughly as the user wrote it, for error messages.
std::string written(const toml::node& node) {
  if (const auto text = node.value_exact<std::string>()) return *text;
  if (const auto number = node.value_exact<double>()) return fmt::format("{}", *number);
  if (const auto number = node.value_exact<std::int64_t>()) return fmt::format("{}", *number);
  if (const auto flag = node.value_exact<bool>()) return *flag ? "true" : "false";
  if (node.is_table()) return "a table";
  if (node.is_array()) return "an array";
  return "a date or time";
}

class TomlReader {
 public:
  TomlReader(std::string_view file, std::span<const FilterRef> own) : file_(file), own_(own) {}

  Result<Pipeline> read(const toml::table& root) {
    const toml::array* stages = nullptr;
    for (const auto& [key, value] : root) {
      if (key.str() != "stage") {
        return error(value, fmt::format("unknown key {}; a pipeline is made of [[stage]] tables",
                                        in_quotes(key.str())));
      }
      stages = value.as_array();
      if (stages == nullptr)
        return error(value, "'stage' must be an array of tables; write [[stage]] before each");
    }
    if (stages == nullptr || stages->empty()) {
      return usage_error("{}: no [[stage]] in the file; write one for each filter", file_);
    }
    if (stages->size() > max_stages) {
      return error(*stages,
                   fmt::format("{} stages, more than the {} allowed; use fewer", stages->size(), max_stages));
    }
    for (const toml::node& node : *stages) {
      if (node.as_table() == nullptr)
        return error(node, "a stage must be a table; write [[stage]] before it");
      stages_.push_back(node.as_table());
    }
    for (const toml::table* table : stages_) {
      const Status read = stage(*table);
      if (!read) return std::unexpected(read.error());
    }
    const Status used = check_used();
    if (!used) return std::unexpected(used.error());
    return canonical(pipeline_);
  }

 private:
  Status stage(const toml::table& table) {
    const toml::node* filter_key = table.get("filter");
    if (filter_key == nullptr)
      return error(table, "this stage has no filter; write filter = \"blur\", for example");
    const auto filter_name = filter_key->value_exact<std::string>();
    if (!filter_name) return error(*filter_key, "filter must be a name in quotes");
    const FilterRef filter = find_filter(*filter_name, own_);
    if (filter == nullptr) {
      return error(*filter_key,
                   fmt::format("unknown filter {}{} ('millrace filters' lists them)", in_quotes(*filter_name),
                               did_you_mean(*filter_name, filter_names(own_))));
    }
    auto inputs = stage_inputs(table, *filter);
    if (!inputs) return std::unexpected(inputs.error());
    auto values = parameters(table, *filter);
    if (!values) return std::unexpected(values.error());
    // The stage is named last, so that it cannot be its own input.
    const Status named = take_name(table);
    if (!named) return named;
    pipeline_.nodes.push_back({.filter = filter, .values = std::move(*values), .inputs = std::move(*inputs)});
    return {};
  }

  Status take_name(const toml::table& table) {
    const toml::node* key = table.get("name");
    if (key == nullptr) return {};
    const auto name = key->value_exact<std::string>();
    if (!name || name->empty()) return error(*key, "name must be text in quotes, and not empty");
    if (*name == source_name)
      return error(*key, "no stage may be named 'source': that is the frame as it came in");
    if (*name == second_name)
      return error(*key, "no stage may be named 'second': that is the frame of the second video");
    const auto [place, added] = index_of_.emplace(*name, static_cast<int>(pipeline_.nodes.size()));
    if (!added) {
      return error(*key, fmt::format("name {} is taken by the stage of line {}; choose another",
                                     in_quotes(*name), line_of(*stages_[place->second])));
    }
    return {};
  }

  Result<std::vector<int>> stage_inputs(const toml::table& table, const Filter& filter) {
    const auto wanted = static_cast<std::size_t>(filter.inputs);
    const toml::node* one = table.get("input");
    const toml::node* several = table.get("inputs");
    if (one != nullptr && several != nullptr) return error(*several, "give either input or inputs, not both");
    const toml::node* key = one != nullptr ? one : several;
    if (key == nullptr) {
      if (wanted == 1)
        return std::vector<int>{static_cast<int>(pipeline_.nodes.size()) - 1};  // -1 is the source
      return error(table, fmt::format("{} takes {} inputs; name them, as in inputs = [\"source\", ...]",
                                      filter.name, filter.inputs));
    }
    std::vector<int> inputs;
    if (one != nullptr) {
      const auto index = input(*one);
      if (!index) return std::unexpected(index.error());
      inputs.push_back(*index);
    } else if (const toml::array* names = several->as_array()) {
      for (const toml::node& name : *names) {
        const auto index = input(name);
        if (!index) return std::unexpected(index.error());
        inputs.push_back(*index);
      }
    } else {
      return error(*several, "inputs must be an array of names; write inputs = [\"...\"], or input for one");
    }
    if (inputs.size() != wanted) {
      return error(*key, fmt::format("{} takes {} input{}, not {}", filter.name, wanted,
                                     wanted == 1 ? "" : "s", inputs.size()));
    }
    return inputs;
  }

  Result<int> input(const toml::node& node) {
    const auto name = node.value_exact<std::string>();
    if (!name) return error(node, "an input must be the name of a stage, in quotes");
    if (*name == source_name) return Node::source;
    if (*name == second_name) return Node::second;
    const auto found = index_of_.find(*name);
    if (found != index_of_.end()) return found->second;
    // Searches this stage and later ones for the name. Only earlier stages can be inputs, which excludes
    // cycles.
    for (std::size_t later = pipeline_.nodes.size(); later < stages_.size(); ++later) {
      const toml::node* key = stages_[later]->get("name");
      if (key == nullptr || key->value_exact<std::string>() != name) continue;
      if (later == pipeline_.nodes.size())
        return error(node, fmt::format("stage {} is its own input", in_quotes(*name)));
      return error(node, fmt::format("stage {} comes later, at line {}; a stage reads from earlier ones only",
                                     in_quotes(*name), line_of(*stages_[later])));
    }
    std::vector<std::string_view> names{source_name, second_name};
    for (const auto& [known, index] : index_of_)
      names.emplace_back(known);
    return error(node,
                 fmt::format("no earlier stage is named {}{}", in_quotes(*name), did_you_mean(*name, names)));
  }

  Result<ParameterValues> parameters(const toml::table& table, const Filter& filter) {
    Arguments given(filter);
    for (const auto& [key, value] : table) {
      if (std::ranges::find(stage_keys, key.str()) != stage_keys.end()) continue;
      const auto index = given.find(key.str());
      if (!index) return error(value, index.error().message);
      const Status set = parameter(given, *index, value);
      if (!set) return error(value, set.error().message);
    }
    auto values = given.complete();
    if (!values) return error(table, values.error().message);
    return values;
  }

  static Status parameter(Arguments& given, std::size_t index, const toml::node& value) {
    if (const auto text = value.value_exact<std::string>()) return given.set_choice(index, *text);
    if (const auto number = value.value_exact<double>())
      return given.set_number(index, *number, written(value));
    if (const auto number = value.value_exact<std::int64_t>()) {
      return given.set_number(index, static_cast<double>(*number), written(value));
    }
    if (const toml::array* array = value.as_array()) {
      std::vector<double> numbers;
      for (const toml::node& entry : *array) {
        const auto number = entry.value<double>();
        if (!number || !entry.is_number()) return std::unexpected(given.wrong_value(index, written(entry)));
        numbers.push_back(*number);
      }
      return given.set_list(index, numbers, written(value));
    }
    return std::unexpected(given.wrong_value(index, written(value)));
  }

  [[nodiscard]] Status check_used() const {
    std::vector<bool> used(pipeline_.nodes.size(), false);
    used.back() = true;
    for (std::size_t n = pipeline_.nodes.size(); n-- > 0;) {
      if (!used[n]) {
        return error(*stages_[n],
                     fmt::format("nothing uses this stage ({}); remove it, or name it as an input",
                                 pipeline_.nodes[n].filter->name));
      }
      for (int input : pipeline_.nodes[n].inputs) {
        if (!Node::is_video(input)) used[input] = true;
      }
    }
    return {};
  }

  static unsigned line_of(const toml::node& node) { return node.source().begin.line; }

  [[nodiscard]] std::unexpected<Error> error(const toml::node& node, std::string_view message) const {
    return usage_error("{}:{}: {}", file_, line_of(node), message);
  }

  std::string_view file_;
  std::span<const FilterRef> own_;
  std::vector<const toml::table*> stages_;
  std::map<std::string, int, std::less<>> index_of_;  // named stages read so far
  Pipeline pipeline_;
};

}  // namespace

Result<Pipeline> parse_pipeline_toml(std::string_view text, std::string_view file_name,
                                     std::span<const FilterRef> own) {
  const auto document = parse_toml(text, file_name);
  if (!document) return std::unexpected(document.error());
  return TomlReader(file_name, own).read(*document);
}

Result<Pipeline> read_pipeline_toml(const std::string& path, const std::stop_token& stop,
                                    std::span<const FilterRef> own) {
  const auto text =
      read_text(path, max_pipeline_file, {.missing = "give a .toml file, a preset or a pipeline"}, stop);
  if (!text) return std::unexpected(text.error());
  return parse_pipeline_toml(*text, path, own);
}

std::string to_toml(const Pipeline& pipeline) {
  const auto& nodes = pipeline.nodes;
  // Only stages that a later one refers to get a name: the filter's, numbered.
  std::vector<bool> named(nodes.size(), false);
  const auto reads_previous = [&](std::size_t n) {
    return nodes[n].inputs.size() == 1 && nodes[n].inputs[0] == static_cast<int>(n) - 1;
  };
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    if (reads_previous(n)) continue;
    for (int input : nodes[n].inputs) {
      if (!Node::is_video(input)) named[input] = true;
    }
  }
  const auto name = [&](int index) {
    if (index == Node::source) return std::string(source_name);
    if (index == Node::second) return std::string(second_name);
    return fmt::format("{}_{}", nodes[index].filter->name, index + 1);
  };

  std::string text;
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    const Node& node = nodes[n];
    text += fmt::format("{}[[stage]]\nfilter = \"{}\"\n", n == 0 ? "" : "\n", node.filter->name);
    if (named[n]) text += fmt::format("name = \"{}\"\n", name(static_cast<int>(n)));
    if (node.inputs.size() == 1 && !reads_previous(n)) {
      text += fmt::format("input = \"{}\"\n", name(node.inputs[0]));
    } else if (node.inputs.size() > 1) {
      text += "inputs = [";
      for (std::size_t i = 0; i < node.inputs.size(); ++i) {
        text += fmt::format("{}\"{}\"", i == 0 ? "" : ", ", name(node.inputs[i]));
      }
      text += "]\n";
    }
    for (std::size_t i = 0; i < node.filter->parameters.size(); ++i) {
      const Parameter& parameter = node.filter->parameters[i];
      if (is_default(parameter, node.values[i])) continue;
      const std::string_view quote = parameter.type == ParameterType::choice ? "\"" : "";
      text += fmt::format("{} = {}{}{}\n", parameter.name, quote,
                          written_argument(*node.filter, i, node.values), quote);
    }
  }
  return text;
}

}  // namespace millrace::image
