// Rules: a user's own policy, written as a few lines of text.
#pragma once

#include "millrace/base/error/result.h"
#include "millrace/placement/policy/policy.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace millrace::placement {

// The threads that a rule matches, and what they get. A match that is not set accepts every thread; an action
// that is not set changes nothing.
struct Rule {
  std::optional<std::string> name;  // shell pattern such as "x264*"
  std::optional<bool> main;
  int first_birth = 0;  // order of birth in the program, from 0
  int last_birth = 0x7fffffff;
  machine::CpuSet cpus;
  std::optional<machine::SchedulingClass> scheduling_class;
  std::optional<std::int64_t> slice_ns;
  [[nodiscard]] friend bool operator==(const Rule&, const Rule&) = default;
};

// Each line is a rule: words that match and words that act, in any order. '#' begins a comment.
//
//   match: name=PATTERN, born=N or born=FIRST-LAST or born=FIRST-, main, other, any
//   act:   cpus=LIST, class=other|batch|rr|fifo, slice=MS (0.1 to 100)
//
// Anything else, and a rule without an action, is a usage error that names the line number.
[[nodiscard]] Result<std::vector<Rule>> parse_rules(std::string_view text);
// Parses a file in the same way. Returns a usage error if it cannot be read.
[[nodiscard]] Result<std::vector<Rule>> read_rule_file(const std::string& path);

// Each thread gets what the first matching rule says, limited to the allowed CPUs.
[[nodiscard]] Policy rule_policy(std::vector<Rule> rules);

}  // namespace millrace::placement
