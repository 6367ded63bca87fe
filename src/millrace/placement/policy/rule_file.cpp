#include "millrace/placement/policy/rule_file.h"

#include "millrace/base/file/whole_file.h"
#include "millrace/base/text/parse_number.h"
#include "millrace/base/text/take_word.h"

#include <algorithm>
#include <cmath>
#include <fnmatch.h>

#include <fmt/format.h>

namespace millrace::placement {
namespace {

constexpr std::string_view blanks = " \t\r";

bool parse_births(std::string_view text, Rule& rule) {
  const std::size_t dash = text.find('-');
  const auto first = parse_number<int>(text.substr(0, dash));
  if (!first || *first < 0) return false;
  rule.first_birth = *first;
  if (dash == std::string_view::npos) {
    rule.last_birth = *first;
    return true;
  }
  if (dash + 1 == text.size()) return true;
  const auto last = parse_number<int>(text.substr(dash + 1));
  rule.last_birth = last.value_or(-1);
  return rule.last_birth >= rule.first_birth;
}

bool parse_slice(std::string_view text, Rule& rule) {
  const auto ms = parse_number<double>(text);
  constexpr double ns_for_ms = 1e6;
  if (!ms || !(*ms * ns_for_ms >= static_cast<double>(machine::shortest_slice_ns)) ||
      *ms * ns_for_ms > static_cast<double>(machine::longest_slice_ns))
    return false;
  rule.slice_ns = static_cast<std::int64_t>(std::llround(*ms * ns_for_ms));
  return true;
}

// Returns "" if the word is valid, otherwise the reason why it is not.
std::string parse_word(std::string_view word, Rule& rule) {
  if (word == "any") return "";
  if (word == "main" || word == "other") {
    rule.main = word == "main";
    return "";
  }
  const std::size_t sign = word.find('=');
  const std::string_view key = word.substr(0, sign);
  const std::string_view value = sign == std::string_view::npos ? "" : word.substr(sign + 1);
  if (sign == std::string_view::npos || value.empty()) return "is no word of a rule";
  if (key == "name") {
    rule.name = value;
    return "";
  }
  if (key == "born") return parse_births(value, rule) ? "" : "wants N, FIRST-LAST or FIRST-, counted from 0";
  if (key == "cpus") {
    auto cpus = machine::CpuSet::parse(value);
    if (!cpus || cpus->empty()) return "wants a list of CPUs such as 0-3,8";
    rule.cpus = std::move(*cpus);
    return "";
  }
  if (key == "class") {
    rule.scheduling_class = machine::parse_scheduling_class(value);
    if (rule.scheduling_class == machine::SchedulingClass::idle) rule.scheduling_class.reset();
    return rule.scheduling_class ? "" : "wants other, batch, rr or fifo";
  }
  if (key == "slice") return parse_slice(value, rule) ? "" : "wants 0.1 to 100 (milliseconds)";
  return "is no word of a rule";
}

bool matches(const Rule& rule, const ThreadView& thread) {
  if (rule.main && *rule.main != thread.main) return false;
  if (thread.number < rule.first_birth || thread.number > rule.last_birth) return false;
  return !rule.name || fnmatch(rule.name->c_str(), thread.name.c_str(), 0) == 0;
}

}  // namespace

Result<std::vector<Rule>> parse_rules(std::string_view text) {
  std::vector<Rule> rules;
  for (int number = 1; !text.empty(); ++number) {
    std::string_view line = take_line(text);
    line = line.substr(0, line.find('#'));
    Rule rule;
    bool words = false;
    while (true) {
      line.remove_prefix(std::min(line.find_first_not_of(blanks), line.size()));
      if (line.empty()) break;
      const std::string_view word = line.substr(0, line.find_first_of(blanks));
      line.remove_prefix(word.size());
      if (const std::string wrong = parse_word(word, rule); !wrong.empty())
        return usage_error("line {}: '{}' {}", number, word, wrong);
      words = true;
    }
    if (!words) continue;
    if (rule.cpus.empty() && !rule.scheduling_class && !rule.slice_ns)
      return usage_error("line {}: names threads but no setting; add cpus=, class= or slice=", number);
    rules.push_back(std::move(rule));
  }
  if (rules.empty()) return usage_error("it has no rule");
  return rules;
}

Result<std::vector<Rule>> read_rule_file(const std::string& path) {
  constexpr std::size_t most_bytes = 1 << 20;
  const auto bytes = read_regular_file(path, most_bytes);
  if (!bytes) return usage_error("the rule file cannot be used: {}", bytes.error().message);
  if (!*bytes) return usage_error("there is no rule file '{}'", path);
  auto rules = parse_rules({reinterpret_cast<const char*>((*bytes)->data()), (*bytes)->size()});
  if (!rules) return usage_error("rule file '{}': {}", path, rules.error().message);
  return rules;
}

Policy rule_policy(std::vector<Rule> rules) {
  return {[rules = std::move(rules)](const MachineState& machine_state, std::span<const ThreadView> threads) {
            std::vector<ThreadPlan> plans(threads.size());
            for (std::size_t i = 0; i < threads.size(); ++i) {
              const auto rule =
                  std::ranges::find_if(rules, [&](const Rule& each) { return matches(each, threads[i]); });
              if (rule != rules.end())
                plans[i] = {rule->cpus & machine_state.allowed, rule->scheduling_class, rule->slice_ns};
            }
            return plans;
          },
          {.each_by_itself = true, .by_name = true, .explicit_masks = true}};
}

}  // namespace millrace::placement
