#include "millrace/api/option_words.h"

#include "millrace/base/text/in_quotes.h"
#include "millrace/base/text/nearest_name.h"
#include "millrace/base/text/parse_number.h"

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <fmt/ranges.h>

namespace millrace::api {
namespace {

using run::RunOptions;

template <class Target, class Number> struct InRange {
  Target RunOptions::* target;
  Number least;
  Number most;
};

using Target =
    std::variant<std::string RunOptions::*, bool RunOptions::*, std::vector<std::string> RunOptions::*,
                 InRange<int, int>, InRange<std::optional<int>, int>,
                 InRange<std::optional<std::int64_t>, std::int64_t>, InRange<std::uint64_t, std::uint64_t>,
                 InRange<std::optional<double>, double>>;

struct Option {
  std::string_view name;
  Target target;
};

using OptionalInt = InRange<std::optional<int>, int>;

// Sorted by name. Excludes options that are not about the run itself (reports, measurements) and affinities,
// because workers are shared between runs.
const std::array<Option, 30> options_by_name{{
    {"at", &RunOptions::changes},
    {"bitrate", &RunOptions::bitrate},
    {"codec", &RunOptions::codec},
    {"crf", OptionalInt{&RunOptions::crf, 0, 63}},
    {"deadline", InRange<std::optional<double>, double>{&RunOptions::deadline_ms, 1e-3, 1e9}},
    {"decoder-threads", OptionalInt{&RunOptions::decoder_threads, 1, 256}},
    {"encoder-options", &RunOptions::encoder_options},
    {"encoder-threads", OptionalInt{&RunOptions::encoder_threads, 1, 256}},
    {"end", &RunOptions::end},
    {"force", &RunOptions::force},
    {"format", &RunOptions::format},
    {"frames",
     InRange<std::optional<std::int64_t>, std::int64_t>{&RunOptions::frames, 1, std::int64_t{1} << 40}},
    {"frames-in-flight", InRange<int, int>{&RunOptions::frames_in_flight, 1, 4096}},
    {"fusion", &RunOptions::fusion},
    {"isa", &RunOptions::isa},
    {"loop", InRange<int, int>{&RunOptions::loop, 1, 1 << 30}},
    {"no-audio", &RunOptions::no_audio},
    {"no-autorotate", &RunOptions::no_autorotate},
    {"no-profile", &RunOptions::no_profile},
    {"objective", &RunOptions::objective},
    {"on-damage", &RunOptions::on_damage},
    {"planes", &RunOptions::planes},
    {"preset", &RunOptions::preset},
    {"second", &RunOptions::second},
    {"seed",
     InRange<std::uint64_t, std::uint64_t>{&RunOptions::seed, 0, std::numeric_limits<std::uint64_t>::max()}},
    {"start", &RunOptions::start},
    {"structure", &RunOptions::structure},
    {"threads", InRange<int, int>{&RunOptions::threads, 1, 4096}},
    {"tile", &RunOptions::tile},
    {"treat-as-progressive", &RunOptions::treat_as_progressive},
}};

struct Assign {
  RunOptions& options;
  std::string_view name;
  std::string_view value;

  Status operator()(std::string RunOptions::* target) const {
    options.*target = value;
    return {};
  }
  Status operator()(std::vector<std::string> RunOptions::* target) const {
    (options.*target).emplace_back(value);
    return {};
  }
  Status operator()(bool RunOptions::* target) const {
    if (value != "true" && value != "false")
      return usage_error("option {} is true or false, not {}", name, in_quotes(value));
    options.*target = value == "true";
    return {};
  }
  template <class Field, class Number> Status operator()(const InRange<Field, Number>& range) const {
    const auto number = parse_number<Number>(value);
    if (!number || *number < range.least || *number > range.most)
      return usage_error("option {} is a number from {} to {}, not {}", name, range.least, range.most,
                         in_quotes(value));
    options.*range.target = *number;
    return {};
  }
};

}  // namespace

Status set_option(RunOptions& options, std::string_view name, std::string_view value) {
  std::vector<std::string_view> names;
  for (const Option& option : options_by_name) {
    if (option.name == name) return std::visit(Assign{options, name, value}, option.target);
    names.push_back(option.name);
  }
  return usage_error("a run has no option {}{}; there are {}", in_quotes(name), did_you_mean(name, names),
                     fmt::join(names, ", "));
}

}  // namespace millrace::api
