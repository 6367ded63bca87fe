#include "millrace/placement/daemon/daemon_settings.h"

#include "millrace/base/file/cache_folder.h"
#include "millrace/base/file/private_folder.h"
#include "millrace/base/file/whole_file.h"
#include "millrace/base/text/in_quotes.h"
#include "millrace/base/text/nearest_name.h"
#include "millrace/base/text/parse_number.h"
#include "millrace/base/text/printable.h"
#include "millrace/base/text/toml_document.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <map>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace millrace::placement {
namespace {

constexpr std::array<std::string_view, 9> root_keys{"act",     "rule",   "judge",   "budget", "machine",
                                                    "metrics", "levels", "include", "exclude"};
constexpr std::array<std::string_view, 3> level_keys{"units", "llc", "numa"};
constexpr std::array<std::string_view, 4> include_keys{"exe", "cgroup", "uid", "act"};
constexpr std::array<std::string_view, 3> exclude_keys{"exe", "cgroup", "uid"};
constexpr double least_budget = 0.01;
constexpr double most_budget = 100;
constexpr std::size_t most_rules = 1000;
constexpr std::size_t longest_text = 4096;
constexpr std::size_t most_bytes = 1 << 20;

class SettingsReader {
 public:
  explicit SettingsReader(std::string_view file) : file_(file) {}

  Result<DaemonSettings> read(const toml::table& root) {
    Status done = each_of(root, "the file", root_keys,
                          [&](std::string_view key, const toml::node& value) { return entry(key, value); });
    if (!done) return std::unexpected(done.error());
    return std::move(settings_);
  }

 private:
  template <class Read>
  Status each_of(const toml::table& table, std::string_view where, std::span<const std::string_view> keys,
                 const Read& read) {
    for (const auto& [key, value] : table) {
      const std::string_view name = key.str();
      if (std::ranges::find(keys, name) == keys.end())
        return usage_error("{}:{}: there is no {} in {}{}", file_, key.source().begin.line, in_quotes(name),
                           where, did_you_mean(name, keys));
      if (Status done = read(name, value); !done) return done;
    }
    return {};
  }

  Status entry(std::string_view key, const toml::node& value) {
    if (key == "act") return flag(key, value, settings_.act);
    if (key == "judge") return flag(key, value, settings_.judge);
    if (key == "rule") {
      bool second = false;
      Status done = choice(key, value, "units", "workover", second);
      settings_.rule = second ? DaemonSettings::Rule::workover : DaemonSettings::Rule::units;
      return done;
    }
    if (key == "machine") return choice(key, value, "doubt", "believe", settings_.believe_machine);
    if (key == "budget") return budget(key, value);
    if (key == "metrics") return metrics(key, value);
    if (key == "levels") return levels(value);
    return rules(key, value, key == "include" ? settings_.include : settings_.exclude, key == "include");
  }

  // Sets `is_second` to which of the two values it is.
  Status choice(std::string_view key, const toml::node& value, std::string_view first,
                std::string_view second, bool& is_second) {
    const auto read = value.value_exact<std::string>();
    if (!read || (*read != first && *read != second))
      return error(value, fmt::format("{} must be \"{}\" or \"{}\"", key, first, second));
    is_second = *read == second;
    return {};
  }

  Status budget(std::string_view key, const toml::node& value) {
    const auto read = value.is_number() ? value.value<double>() : std::nullopt;
    if (!read || !(*read >= least_budget && *read <= most_budget))
      return error(value, fmt::format("{} must be a number from {} to {}: percent of one CPU", key,
                                      least_budget, most_budget));
    settings_.budget_percent = *read;
    return {};
  }

  // Only local addresses: a user who can reach the port sees what all users run.
  Status metrics(std::string_view key, const toml::node& value) {
    const auto read = value.value_exact<std::string>().value_or("");
    const std::size_t colon = read.rfind(':');
    const std::string host = read.substr(0, std::min(colon, read.size()));
    const int port = colon == std::string::npos ? 0 : parse_number<int>(read.substr(colon + 1)).value_or(0);
    if ((host != "127.0.0.1" && host != "[::1]") || port < 1 ||
        port > std::numeric_limits<std::uint16_t>::max())
      return error(value, fmt::format("{} must be a port of this machine: \"127.0.0.1:9464\"", key));
    settings_.metrics = read;
    return {};
  }

  Status levels(const toml::node& value) {
    const toml::table* const table = value.as_table();
    if (table == nullptr) return error(value, "levels must be a table: [levels]");
    return each_of(*table, "[levels]", level_keys, [&](std::string_view key, const toml::node& level) {
      auto& levels = settings_.levels;
      return flag(key, level, key == "units" ? levels.units : key == "llc" ? levels.llc : levels.numa);
    });
  }

  Status rules(std::string_view key, const toml::node& value, std::vector<DaemonRule>& into, bool include) {
    const toml::array* const list = value.as_array();
    if (list == nullptr || !list->is_array_of_tables())
      return error(value, fmt::format("{} must be a list of tables: [[{}]]", key, key));
    if (list->size() > most_rules) return error(value, fmt::format("more than {} of {}", most_rules, key));
    for (const toml::node& node : *list) {
      DaemonRule rule;
      const auto keys = include ? std::span<const std::string_view>(include_keys) : exclude_keys;
      Status done = each_of(
          *node.as_table(), fmt::format("[[{}]]", key), keys,
          [&](std::string_view name, const toml::node& entry) { return rule_entry(name, entry, rule); });
      if (!done) return done;
      if (rule.exe.empty() && rule.cgroup.empty() && !rule.user)
        return error(node, fmt::format("[[{}]] must say exe, cgroup or uid", key));
      into.push_back(std::move(rule));
    }
    return {};
  }

  Status rule_entry(std::string_view key, const toml::node& value, DaemonRule& rule) {
    if (key == "exe") return text(key, value, rule.exe);
    if (key == "cgroup") return text(key, value, rule.cgroup);
    if (key == "act") return flag(key, value, rule.act.emplace());
    const auto number = value.value_exact<std::int64_t>();
    if (!number || *number < 0 || *number >= std::numeric_limits<std::uint32_t>::max())
      return error(value, "uid must be the number of a user");
    rule.user = static_cast<uid_t>(*number);
    return {};
  }

  Status text(std::string_view key, const toml::node& value, std::string& into) {
    const auto read = value.value_exact<std::string>();
    if (!read || read->empty() || read->size() > longest_text || printable(*read) != *read)
      return error(value, fmt::format("{} must be a pattern in quotes, without control characters", key));
    into = *read;
    return {};
  }

  Status flag(std::string_view key, const toml::node& value, bool& into) {
    const auto read = value.value_exact<bool>();
    if (!read) return error(value, fmt::format("{} must be true or false", key));
    into = *read;
    return {};
  }

  [[nodiscard]] std::unexpected<Error> error(const toml::node& node, std::string_view message) const {
    return usage_error("{}:{}: {}", file_, node.source().begin.line, message);
  }

  std::string_view file_;
  DaemonSettings settings_;
};

bool allows(const std::string& pattern, const std::string& text) {
  return pattern.empty() || (!text.empty() && fits_pattern(pattern, text));
}

}  // namespace

// Keeps, as bits, all places in the pattern that the text so far may have reached. Place i is before its i-th
// byte, not counting stars.
bool fits_pattern(std::string_view pattern, std::string_view text) {
  constexpr std::size_t bits = 64;
  const auto places =
      static_cast<std::size_t>(std::ranges::count_if(pattern, [](char c) { return c != '*'; }));
  const std::size_t words = places / bits + 1;
  using Places = std::vector<std::uint64_t>;
  Places stays(words);      // places with a star: any byte may follow
  Places takes_any(words);  // places followed by '?'
  std::map<char, Places> takes;
  std::size_t place = 0;
  const auto set = [](Places& in, std::size_t bit) { in[bit / bits] |= std::uint64_t{1} << (bit % bits); };
  for (const char c : pattern) {
    if (c == '*') {
      set(stays, place);
      continue;
    }
    set(c == '?' ? takes_any : takes.try_emplace(c, words).first->second, place++);
  }
  const Places takes_no_byte(words);
  Places reached(words);
  reached[0] = 1;
  for (const char c : text) {
    const auto found = takes.find(c);
    const Places& by_this = found == takes.end() ? takes_no_byte : found->second;
    std::uint64_t carried = 0;
    std::uint64_t any = 0;
    for (std::size_t word = 0; word < words; ++word) {
      const std::uint64_t before = reached[word];
      const std::uint64_t moves = before & (by_this[word] | takes_any[word]);
      reached[word] = (before & stays[word]) | (moves << 1U) | carried;
      carried = moves >> (bits - 1);
      any |= reached[word];
    }
    if (any == 0) return false;
  }
  return (reached[places / bits] >> (places % bits) & 1U) != 0;
}

bool DaemonRule::fits(const ProcessTraits& process) const {
  return (!user || *user == process.user) && allows(exe, process.exe) && allows(cgroup, process.cgroup);
}

const DaemonRule* DaemonSettings::first_of(std::span<const DaemonRule> rules, const ProcessTraits& process) {
  const auto found = std::ranges::find_if(rules, [&](const DaemonRule& rule) { return rule.fits(process); });
  return found == rules.end() ? nullptr : &*found;
}

bool DaemonSettings::acts_on(const ProcessTraits& process) const {
  const DaemonRule* const own = first_of(include, process);
  return own != nullptr && own->act ? *own->act : act;
}

Result<DaemonSettings> parse_daemon_settings(std::string_view text, std::string_view file_name) {
  const auto document = parse_toml(text, file_name);
  if (!document) return std::unexpected(document.error());
  return SettingsReader(file_name).read(*document);
}

std::string usual_daemon_settings(bool of_user) {
  constexpr const char* name = "millrace/daemon.toml";
  if (!of_user) return std::string("/etc/") + name;
  const std::filesystem::path config = config_folder();
  return config.empty() ? "" : config.parent_path() / name;
}

Result<DaemonSettings> read_daemon_settings(const std::string& path, bool must_exist) {
  std::error_code error;
  if (!path.empty() && !must_exist) {
    const std::filesystem::path folder = std::filesystem::path(path).parent_path();
    if (const auto own = open_private_folder(folder, FolderUse::read); !own)
      return usage_error("settings in '{}' are not used: {}; give --config FILE", folder.string(),
                         own.error().message);
  }
  if (path.empty() ||
      (!must_exist && std::filesystem::status(path, error).type() == std::filesystem::file_type::not_found))
    return DaemonSettings();
  constexpr std::string_view advice = "give the path of a TOML file";
  // Only regular files: a starting service must not block on a pipe.
  const auto bytes = read_regular_file(path, most_bytes);
  if (!bytes) return usage_error("{}; {}", bytes.error().message, advice);
  if (!*bytes) return usage_error("{}: no such file; {}", path, advice);
  return parse_daemon_settings(std::string(reinterpret_cast<const char*>((*bytes)->data()), (*bytes)->size()),
                               path);
}

}  // namespace millrace::placement
