#include "millrace/api/model_questions.h"

#include "millrace/api/pipeline_file.h"
#include "millrace/base/text/in_quotes.h"
#include "millrace/base/text/nearest_name.h"
#include "millrace/machine/topology/topology.h"
#include "millrace/model/pipeline/load_pipeline.h"
#include "millrace/model/report/model_report.h"
#include "millrace/model/report/simulation_report.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

namespace millrace::api {
namespace {

using nlohmann::json;

constexpr std::int64_t most_items = 1'000'000'000;
constexpr std::int64_t most_threads = 1024;
constexpr std::int64_t largest_int = std::numeric_limits<int>::max();

std::string written(const json& value) {
  return in_quotes(value.dump(-1, ' ', true, json::error_handler_t::replace));
}

// Reads the members of a question by name. Remembers the first error; a member that is missing, null or
// invalid gives no value.
class Question {
 public:
  Question(std::string_view text, std::span<const std::string_view> names)
      : members_(json::parse(text, nullptr, false)) {
    if (!members_.is_object()) {
      refuse("a question is an object of JSON");
      return;
    }
    for (const auto& [name, value] : members_.items()) {
      if (std::ranges::find(names, name) == names.end())
        refuse(fmt::format("a question has no {}{}; there are {}", in_quotes(name), did_you_mean(name, names),
                           fmt::join(names, ", ")));
    }
  }

  [[nodiscard]] std::optional<std::int64_t> whole(const char* name, std::int64_t least, std::int64_t most) {
    const json* value = find(name);
    return value == nullptr ? std::nullopt : whole_in(name, *value, least, most);
  }
  [[nodiscard]] std::optional<int> count(const char* name, std::int64_t most = most_threads) {
    const auto number = whole(name, 1, most);
    return number ? std::optional(static_cast<int>(*number)) : std::nullopt;
  }
  // One number, or an array of numbers.
  [[nodiscard]] std::vector<int> counts(const char* name) {
    const json* value = find(name);
    std::vector<int> numbers;
    if (value == nullptr) return numbers;
    for (const json& one : value->is_array() ? *value : json::array({*value})) {
      if (const auto number = whole_in(name, one, 1, most_threads))
        numbers.push_back(static_cast<int>(*number));
    }
    return numbers;
  }
  [[nodiscard]] std::vector<std::string> texts(const char* name) {
    const json* value = find(name);
    std::vector<std::string> found;
    if (value == nullptr) return found;
    for (const json& one : value->is_array() ? *value : json::array({*value})) {
      if (one.is_string())
        found.push_back(one.get<std::string>());
      else
        refuse(fmt::format("{} is a text, not {}", name, written(one)));
    }
    return found;
  }
  [[nodiscard]] std::string text(const char* name) {
    const auto found = texts(name);
    if (found.size() > 1) refuse(fmt::format("{} is one text", name));
    return found.empty() ? "" : found.front();
  }
  [[nodiscard]] bool flag(const char* name) {
    const json* value = find(name);
    if (value != nullptr && !value->is_boolean())
      refuse(fmt::format("{} is true or false, not {}", name, written(*value)));
    return value != nullptr && value->is_boolean() && value->get<bool>();
  }
  [[nodiscard]] std::vector<model::Strategy> strategies(const char* name) {
    std::vector<model::Strategy> found;
    for (const std::string& word : texts(name)) {
      if (const auto strategy = model::strategy_of(word))
        found.push_back(*strategy);
      else
        refuse(fmt::format("{} is not a strategy; use pools, oversubscribed, collapsed or stealing",
                           in_quotes(word)));
    }
    return found;
  }
  [[nodiscard]] Result<model::Pipeline> pipeline() {
    const std::string words = text("pipeline");
    if (words.empty())
      refuse(
          "give a pipeline: stages divided by ';', such as 'load serial 0.5ms; work 4ms', or a .toml file");
    if (!right_) return std::unexpected(right_.error());
    if (Status regular = check_pipeline_file(words); !regular) return std::unexpected(regular.error());
    return model::load_pipeline(words);
  }

 private:
  [[nodiscard]] const json* find(const char* name) const {
    if (!members_.is_object()) return nullptr;
    const auto found = members_.find(name);
    return found == members_.end() || found->is_null() ? nullptr : &*found;
  }
  std::optional<std::int64_t> whole_in(const char* name, const json& value, std::int64_t least,
                                       std::int64_t most) {
    if (value.is_number_integer() && value >= least && value <= most) return value.get<std::int64_t>();
    refuse(fmt::format("{} is a whole number from {} to {}, not {}", name, least, most, written(value)));
    return std::nullopt;
  }
  void refuse(const std::string& why) {
    if (right_) right_ = std::unexpected(Error{ErrorKind::usage, why});
  }

  json members_;
  Status right_;
};

std::string dumped(const json& answer) { return answer.dump(2, ' ', false, json::error_handler_t::replace); }

}  // namespace

Result<std::string> predict(std::string_view text, const std::function<bool()>& stops) {
  static constexpr std::string_view names[] = {"pipeline", "threads", "cores", "strategies", "tokens",
                                               "queue",    "items",   "seed",  "sticky",     "formulas"};
  Question question(text, names);
  model::ModelQuestion asked{.cores = question.counts("threads"),
                             .machine_cores = question.count("cores"),
                             .tokens = question.count("tokens", largest_int),
                             .queue = question.count("queue", largest_int),
                             .sharing = question.flag("sticky") ? model::CoreSharing::sticky
                                                                : model::CoreSharing::balanced,
                             .simulate = !question.flag("formulas"),
                             .stops = stops};
  if (asked.cores.empty()) asked.cores = {1, 2, 4, 8, 16};
  if (auto strategies = question.strategies("strategies"); !strategies.empty())
    asked.strategies = std::move(strategies);
  asked.items = question.whole("items", 1, most_items).value_or(asked.items);
  asked.seed = static_cast<std::uint64_t>(
      question.whole("seed", 0, std::numeric_limits<std::int64_t>::max()).value_or(1));
  const auto pipeline = question.pipeline();
  if (!pipeline) return std::unexpected(pipeline.error());
  const auto report = model::answer(*pipeline, asked);
  if (!report) return std::unexpected(report.error());
  return dumped(model::to_json(*report));
}

Result<std::string> simulate(std::string_view text, const std::function<bool()>& stops) {
  static constexpr std::string_view names[] = {"pipeline", "machine", "cores", "strategy", "tokens",
                                               "queue",    "items",   "seed",  "sticky"};
  Question question(text, names);
  model::SimulationQuestion asked{.tokens = question.count("tokens", largest_int),
                                  .queue = question.count("queue", largest_int),
                                  .sharing = question.flag("sticky") ? model::CoreSharing::sticky
                                                                     : model::CoreSharing::balanced};
  asked.options.stops = stops;
  asked.options.items = question.whole("items", 1, most_items).value_or(asked.options.items);
  asked.options.seed = static_cast<std::uint64_t>(
      question.whole("seed", 0, std::numeric_limits<std::int64_t>::max()).value_or(1));
  if (const auto strategies = question.strategies("strategy"); !strategies.empty())
    asked.strategy = strategies.front();
  const std::string machine = question.text("machine");
  const auto cores = question.count("cores");
  const auto pipeline = question.pipeline();
  if (!pipeline) return std::unexpected(pipeline.error());
  if (cores && !machine.empty()) return usage_error("give either cores or a machine, not both");
  if (cores) {
    asked.cores = *cores;
  } else {
    const auto topology = machine.empty() ? machine::Topology::live()
                                          : machine::Topology::from_synthetic({.description = machine});
    if (!topology) return std::unexpected(topology.error());
    asked.cores = static_cast<int>(topology->cores().size());
  }
  const auto report = model::answer(*pipeline, asked);
  if (!report) return std::unexpected(report.error());
  return dumped(model::to_json(*report));
}

}  // namespace millrace::api
