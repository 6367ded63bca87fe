// Rules: a user's own policy as a few lines of text.
#pragma once

#include "millrace/base/result.h"
#include "millrace/placement/policy/policy.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace millrace::placement {

// Which threads a rule is for, and what they get; what is left out matches all, or stays as it is.
struct Rule {
  std::optional<std::string> name;  // shell pattern, as "x264*"
  std::optional<bool> main;
  int first_birth = 0;  // order of birth in the program, from 0
  int last_birth = 0x7fffffff;
  machine::CpuSet cpus;
  std::optional<machine::SchedulingClass> scheduling_class;
  std::optional<std::int64_t> slice_ns;
  [[nodiscard]] friend bool operator==(const Rule&, const Rule&) = default;
};

// One rule a line: words that match, then words that act, in any order. '#' begins a comment.
//   match: name=PATTERN, born=N or born=FIRST-LAST or born=FIRST-, main, other, any
//   act:   cpus=LIST, class=other|batch|rr|fifo, slice=MS (0.1 to 100)
// Usage error, with the number of the line, for anything else, and for a rule that does not act.
[[nodiscard]] Result<std::vector<Rule>> parse_rules(std::string_view text);
// The same from a file. Usage error when it cannot be read.
[[nodiscard]] Result<std::vector<Rule>> read_rule_file(const std::string& path);

// Each thread gets what the first rule says that matches it; of its CPUs those that are allowed.
[[nodiscard]] Policy rule_policy(std::vector<Rule> rules);

}  // namespace millrace::placement
