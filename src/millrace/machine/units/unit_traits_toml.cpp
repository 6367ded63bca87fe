#include "millrace/machine/units/unit_traits_toml.h"

#include "millrace/base/text/in_quotes.h"
#include "millrace/base/text/nearest_name.h"
#include "millrace/base/text/toml_document.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include <fmt/format.h>

namespace millrace::machine {
namespace {

constexpr std::int64_t most_units = 64;
constexpr double most_slowdown = 1000;
constexpr double shortest_interval_s = 0.01;
constexpr double longest_interval_s = 3600;

constexpr std::array<std::string_view, 9> root_keys{"family", "title",  "explanation", "typical", "match",
                                                    "units",  "caches", "slowdown",    "counters"};
constexpr std::array<std::string_view, 4> match_keys{"architecture", "vendor", "family_number", "model"};
constexpr std::array<std::string_view, 3> execution_units{"int", "fp", "simd"};
constexpr std::array<std::string_view, 2> sharing_keys{"shared_by", "units"};
constexpr std::array<std::string_view, 4> cache_names{"l1i", "l1d", "l2", "l3"};
constexpr std::array<std::string_view, 4> counter_keys{"interval", "events", "usage", "records"};
constexpr std::array<std::string_view, shared_units> unit_names{"int", "fp",  "simd", "l1",
                                                                "l2",  "llc", "dram"};

constexpr auto domain_names = [] {
  std::array<std::string_view, all_sharing_domains.size()> names{"pu", "l1",  "core", "module",
                                                                 "l2", "llc", "node", "package"};
  return names;
}();

std::string list_of(std::span<const std::string_view> names) {
  std::string text;
  for (const std::string_view name : names)
    text += fmt::format("{}{}", text.empty() ? "" : ", ", name);
  return text;
}

bool is_short_name(std::string_view text) {
  constexpr std::size_t most = 40;
  return !text.empty() && text.size() <= most && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
  });
}

// Whether `text` is a valid event name in a formula.
bool is_variable(std::string_view text) {
  return is_short_name(text) && !text.contains('-') && !(text.front() >= '0' && text.front() <= '9');
}

class UnitTraitsReader {
 public:
  explicit UnitTraitsReader(std::string_view file) : file_(file) { traits_.from = file; }

  Result<UnitTraits> read(const toml::table& root) {
    if (Status done = known_keys(root, "", root_keys); !done) return std::unexpected(done.error());
    traits_.family.clear();
    traits_.title.clear();
    traits_.explanation.clear();
    for (const auto& step :
         {&UnitTraitsReader::names, &UnitTraitsReader::match, &UnitTraitsReader::units,
          &UnitTraitsReader::caches, &UnitTraitsReader::slowdowns, &UnitTraitsReader::counters})
      if (Status done = (this->*step)(root); !done) return std::unexpected(done.error());
    return std::move(traits_);
  }

  Result<FamilyMatch> read_match(const toml::table& root) {
    if (Status done = match(root); !done) return std::unexpected(done.error());
    return std::move(traits_.match);
  }

 private:
  Status names(const toml::table& root) {
    for (const auto& [key, into] : {std::pair<std::string_view, std::string*>{"family", &traits_.family},
                                    {"title", &traits_.title},
                                    {"explanation", &traits_.explanation}}) {
      const toml::node* const value = root.get(key);
      if (value == nullptr) return usage_error("{}: no {} in the file; write {} = \"...\"", file_, key, key);
      if (Status read = text(key, *value, *into); !read) return read;
    }
    if (!is_short_name(traits_.family))
      return error(*root.get("family"), "family must be a short name of letters, digits and '-'");
    const toml::node* const typical = root.get("typical");
    return typical == nullptr ? Status() : text("typical", *typical, traits_.typical);
  }

  Status match(const toml::table& root) {
    const auto table = table_of(root, "match", match_keys);
    if (!table) return std::unexpected(table.error());
    if (*table == nullptr) return {};
    for (const auto& [key, value] : **table) {
      const std::string path = fmt::format("match.{}", key.str());
      Status read;
      if (key == "family_number")
        read = each(path, value, [&](const toml::node& node) -> Status {
          const auto number = node.value_exact<std::int64_t>();
          constexpr std::int64_t most = 100'000;
          if (!number || *number < 0 || *number > most)
            return error(node, fmt::format("{} must be whole numbers from 0 to {}", path, most));
          traits_.match.family_numbers.push_back(static_cast<int>(*number));
          return {};
        });
      else
        read = texts(path, value,
                     key == "architecture" ? traits_.match.architectures
                     : key == "vendor"     ? traits_.match.vendors
                                           : traits_.match.models);
      if (!read) return read;
    }
    return {};
  }

  Status units(const toml::table& root) {
    const auto table = table_of(root, "units", execution_units);
    if (!table) return std::unexpected(table.error());
    if (*table == nullptr)
      return usage_error("{}: no [units] in the file; write it, and int, fp and simd below", file_);
    for (const std::string_view unit : execution_units) {
      const toml::node* const value = (*table)->get(unit);
      if (value == nullptr)
        return error(**table,
                     fmt::format("units.{} is missing; write {} = {{shared_by = \"core\"}}", unit, unit));
      UnitSharing& into = unit == "int" ? traits_.integer : unit == "fp" ? traits_.fp : traits_.simd;
      if (Status read = sharing(fmt::format("units.{}", unit), *value, into); !read) return read;
      if (into.shared_by < traits_.integer.shared_by)
        return error(*value, fmt::format("units.{} cannot be shared by fewer PUs ({}) than units.int ({})",
                                         unit, name_of(into.shared_by), name_of(traits_.integer.shared_by)));
    }
    return {};
  }

  Status sharing(const std::string& path, const toml::node& value, UnitSharing& into) const {
    const toml::table* const table = value.as_table();
    if (table == nullptr || !table->contains("shared_by"))
      return error(value, fmt::format("{} must say by whom: {{shared_by = \"core\", units = 2}}", path));
    if (Status done = known_keys(*table, path + ".", sharing_keys); !done) return done;
    const toml::node& domain = *table->get("shared_by");
    if (Status read = this->domain(path + ".shared_by", domain, into.shared_by); !read) return read;
    if (const toml::node* const count = table->get("units"); count != nullptr) {
      const auto number = count->value_exact<std::int64_t>();
      if (!number || *number < 1 || *number > most_units)
        return error(*count, fmt::format("{}.units must be a whole number from 1 to {}", path, most_units));
      into.units = static_cast<int>(*number);
    }
    return {};
  }

  Status caches(const toml::table& root) {
    const auto table = table_of(root, "caches", cache_names);
    if (!table) return std::unexpected(table.error());
    if (*table == nullptr) return {};
    for (const auto& [key, value] : **table) {
      CacheSharing cache{.cache = std::string(key.str())};
      if (Status read = domain(fmt::format("caches.{}", key.str()), value, cache.shared_by); !read)
        return read;
      traits_.caches.push_back(std::move(cache));
    }
    return {};
  }

  Status slowdowns(const toml::table& root) {
    const auto domains = table_of(root, "slowdown", domain_names);
    if (!domains) return std::unexpected(domains.error());
    if (*domains == nullptr) return {};
    for (const auto& [domain, rows] : **domains) {
      DomainSlowdown level{.domain = *parse_sharing_domain(domain.str()), .slowdown = {}};
      for (const SharedUnit unit : all_shared_units)
        for (const SharedUnit beside : all_shared_units)
          level.slowdown[unit][beside] = 1;
      const std::string path = fmt::format("slowdown.{}", domain.str());
      const Status read = each_unit(path, rows, [&](SharedUnit unit, const toml::node& row) {
        const std::string row_path = fmt::format("{}.{}", path, name_of(unit));
        return each_unit(row_path, row, [&](SharedUnit beside, const toml::node& entry) -> Status {
          const auto ratio = number(entry);
          if (!ratio || *ratio < 1 || *ratio > most_slowdown)
            return error(entry, fmt::format("{}.{} must be a number from 1 to {}", row_path, name_of(beside),
                                            most_slowdown));
          level.slowdown[unit][beside] = *ratio;
          return {};
        });
      });
      if (!read) return read;
      traits_.slowdowns.push_back(level);
    }
    std::ranges::sort(traits_.slowdowns, {}, &DomainSlowdown::domain);
    return {};
  }

  Status counters(const toml::table& root) {
    const auto table = table_of(root, "counters", counter_keys);
    if (!table) return std::unexpected(table.error());
    if (*table == nullptr) return {};
    CounterTraits& counters = traits_.counters;
    if (const toml::node* const interval = (*table)->get("interval"); interval != nullptr) {
      const auto seconds = number(*interval);
      if (!seconds || *seconds < shortest_interval_s || *seconds > longest_interval_s)
        return error(*interval, fmt::format("counters.interval must be a number of seconds from {} to {}",
                                            shortest_interval_s, longest_interval_s));
      counters.interval_s = *seconds;
    }
    if (Status read = events(**table); !read) return read;
    const auto usage = [&](std::string_view name, const toml::node& value, CounterFormula formula) -> Status {
      const auto unit = shared_unit_of(name);
      if (!unit)
        return error(value, fmt::format("counters.usage.{} is not a unit; there are {}", in_quotes(name),
                                        list_of(unit_names)));
      counters.usage.emplace_back(*unit, std::move(formula));
      return {};
    };
    if (Status read = formulas(**table, "usage", usage); !read) return read;
    return formulas(**table, "records",
                    [&](std::string_view name, const toml::node&, CounterFormula formula) -> Status {
                      counters.records.emplace_back(name, std::move(formula));
                      return {};
                    });
  }

  Status events(const toml::table& counters) {
    const toml::node* const value = counters.get("events");
    if (value == nullptr) return {};
    const toml::table* const table = value->as_table();
    if (table == nullptr)
      return error(*value, "counters.events must be a table such as {cycles = \"PERF_COUNT_HW_CPU_CYCLES\"}");
    for (const auto& [key, name] : *table) {
      const std::string path = fmt::format("counters.events.{}", in_quotes(key.str()));
      if (!is_variable(key.str()))
        return error(name, path + " is no name for a formula: letters, digits and '_', no digit in front");
      std::string event;
      if (Status read = text(path, name, event); !read) return read;
      traits_.counters.events.emplace_back(std::string(key.str()), std::move(event));
    }
    return {};
  }

  template <class Take>
  Status formulas(const toml::table& counters, std::string_view key, const Take& take) const {
    const toml::node* const value = counters.get(key);
    if (value == nullptr) return {};
    const toml::table* const table = value->as_table();
    if (table == nullptr)
      return error(*value,
                   fmt::format("counters.{} must be a table such as {{fp = \"flops / cycles\"}}", key));
    for (const auto& [name, node] : *table) {
      const std::string path = fmt::format("counters.{}.{}", key, name.str());
      std::string written;
      if (Status read = text(path, node, written); !read) return read;
      auto formula = CounterFormula::parse(written);
      if (!formula) return error(node, fmt::format("{}: {}", path, formula.error().message));
      for (const std::string& event : formula->names())
        if (std::ranges::find(traits_.counters.events, event, &std::pair<std::string, std::string>::first) ==
            traits_.counters.events.end())
          return error(
              node, fmt::format("{} uses {}, which counters.events does not name", path, in_quotes(event)));
      if (Status taken = take(name.str(), node, std::move(*formula)); !taken) return taken;
    }
    return {};
  }

  // The table of that name, or null.
  Result<const toml::table*> table_of(const toml::table& root, std::string_view key,
                                      std::span<const std::string_view> keys) const {
    const toml::node* const value = root.get(key);
    if (value == nullptr) return nullptr;
    const toml::table* const table = value->as_table();
    if (table == nullptr) return error(*value, fmt::format("{} must be a table: [{}]", key, key));
    if (Status done = known_keys(*table, fmt::format("{}.", key), keys); !done)
      return std::unexpected(done.error());
    return table;
  }

  Status known_keys(const toml::table& table, std::string_view path,
                    std::span<const std::string_view> keys) const {
    for (const auto& [key, value] : table)
      if (std::ranges::find(keys, key.str()) == keys.end())
        return error(value, fmt::format("unknown key {}{}", in_quotes(fmt::format("{}{}", path, key.str())),
                                        tail(key.str(), keys)));
    return {};
  }

  static std::string tail(std::string_view key, std::span<const std::string_view> keys) {
    const std::string guess = did_you_mean(key, keys);
    return guess.empty() ? fmt::format("; there are {}", list_of(keys)) : guess;
  }

  template <class Read>
  Status each_unit(const std::string& path, const toml::node& value, const Read& read) const {
    const toml::table* const table = value.as_table();
    if (table == nullptr)
      return error(value, fmt::format("{} must be a table such as {{fp = ..., l2 = ...}}", path));
    if (Status done = known_keys(*table, path + ".", unit_names); !done) return done;
    for (const auto& [key, entry] : *table)
      if (const Status done = read(*shared_unit_of(key.str()), entry); !done) return done;
    return {};
  }

  template <class Read>
  Status each(const std::string& path, const toml::node& value, const Read& read) const {
    const toml::array* const list = value.as_array();
    if (list == nullptr || list->empty()) return error(value, fmt::format("{} must be a list: [...]", path));
    for (const toml::node& node : *list)
      if (Status done = read(node); !done) return done;
    return {};
  }

  Status texts(const std::string& path, const toml::node& value, std::vector<std::string>& into) const {
    return each(path, value, [&](const toml::node& node) { return text(path, node, into.emplace_back()); });
  }

  Status text(std::string_view key, const toml::node& value, std::string& into) const {
    constexpr std::size_t most = 200;
    const auto read = value.value_exact<std::string>();
    const auto printable = [](char c) { return c >= ' ' && c <= '~'; };
    if (!read || read->empty() || read->size() > most || !std::ranges::all_of(*read, printable))
      return error(value,
                   fmt::format("{} must be text in quotes: 1 to {} printable ASCII characters", key, most));
    into = *read;
    return {};
  }

  Status domain(std::string_view key, const toml::node& value, SharingDomain& into) const {
    const auto name = value.value_exact<std::string>();
    const auto domain = parse_sharing_domain(name.value_or("?"));
    if (!domain) return error(value, fmt::format("{} must be one of {}", key, list_of(domain_names)));
    into = *domain;
    return {};
  }

  static std::optional<double> number(const toml::node& value) {
    const auto read = value.is_number() ? value.value<double>() : std::nullopt;
    return read && std::isfinite(*read) ? read : std::nullopt;
  }

  [[nodiscard]] std::unexpected<Error> error(const toml::node& node, std::string_view message) const {
    return usage_error("{}:{}: {}", file_, node.source().begin.line, message);
  }

  std::string_view file_;
  UnitTraits traits_;
};

}  // namespace

Result<UnitTraits> parse_unit_traits(std::string_view text, std::string_view file_name) {
  const auto document = parse_toml(text, file_name);
  if (!document) return std::unexpected(document.error());
  return UnitTraitsReader(file_name).read(*document);
}

Result<FamilyMatch> parse_family_match(std::string_view text, std::string_view file_name) {
  constexpr std::string_view title = "[match]\n";
  std::size_t begin = text.find(title);
  while (begin != std::string_view::npos && begin > 0 && text[begin - 1] != '\n')
    begin = text.find(title, begin + 1);
  if (begin == std::string_view::npos) return FamilyMatch{};
  text.remove_prefix(begin);
  const auto document = parse_toml(text.substr(0, text.find("\n[")), file_name);
  if (!document) return std::unexpected(document.error());
  return UnitTraitsReader(file_name).read_match(*document);
}

}  // namespace millrace::machine
