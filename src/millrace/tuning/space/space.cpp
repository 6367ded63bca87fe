#include "millrace/tuning/space/space.h"

#include <algorithm>
#include <set>

namespace millrace::tuning {
namespace {

bool plain(std::string_view name) {
  return !name.empty() && name.find_first_of(",= \t\n") == std::string_view::npos;
}

Status check(const std::vector<Knob>& knobs) {
  if (knobs.empty()) return usage_error("a search space needs at least one knob");
  std::set<std::string_view> names;
  std::int64_t combinations = 1;
  for (const Knob& knob : knobs) {
    if (!plain(knob.name))
      return usage_error("'{}' cannot name a knob: leave out ',', '=' and blanks", knob.name);
    if (!names.insert(knob.name).second) return usage_error("two knobs are called '{}'", knob.name);
    if (knob.values.empty()) return usage_error("knob '{}' has no values; leave it out", knob.name);
    std::set<std::string_view> values;
    for (const std::string& value : knob.values) {
      if (!plain(value)) {
        return usage_error("'{}' cannot be a value of knob '{}': leave out ',', '=' and blanks", value,
                           knob.name);
      }
      if (!values.insert(value).second) return usage_error("knob '{}' has '{}' twice", knob.name, value);
    }
    combinations *= std::ssize(knob.values);
    if (combinations > Space::max_combinations) {
      return usage_error("the knobs make more than {} combinations; give them fewer values",
                         Space::max_combinations);
    }
  }
  return {};
}

// Advances to the next combination in lexicographic order that differs in one of the first `length` values;
// the rest become 0. Returns the position of the first changed value, or nothing after the last combination.
std::optional<std::size_t> next_combination(std::span<int> values, std::size_t length,
                                            const std::vector<Knob>& knobs) {
  std::ranges::fill(values.subspan(length), 0);
  for (std::size_t k = length; k-- > 0;) {
    if (++values[k] < std::ssize(knobs[k].values)) return k;
    values[k] = 0;
  }
  return std::nullopt;
}

}  // namespace

Result<Space> Space::make(std::vector<Knob> knobs, const Valid& valid, Wording wording, const Valid& begins) {
  if (Status checked = check(knobs); !checked) return std::unexpected(checked.error());
  Space space;
  std::vector<int> values(knobs.size(), 0);
  // The length of the shortest prefix without a valid combination. Prefixes that end before `changed` have
  // already been checked.
  const auto dead_end = [&](std::size_t changed) {
    for (std::size_t length = changed + 1; begins && length < values.size(); ++length)
      if (!begins(std::span(values).first(length))) return length;
    return values.size();
  };
  for (std::optional<std::size_t> changed = 0; changed;) {
    const std::size_t length = dead_end(*changed);
    if (length == values.size() && valid(values)) {
      space.values_.insert(space.values_.end(), values.begin(), values.end());
      if (space.values_.size() > max_candidates * knobs.size()) {
        return usage_error("more than {} combinations of the knobs are valid; give them fewer values",
                           max_candidates);
      }
    }
    changed = next_combination(values, length, knobs);
  }
  if (space.values_.empty()) return usage_error("no combination of the knobs is valid");
  space.knobs_ = std::move(knobs);
  space.wording_ = std::move(wording);
  return space;
}

std::optional<int> Space::find(std::span<const int> wanted) const {
  int low = 0;
  int high = size();
  while (low < high) {
    const int middle = low + (high - low) / 2;
    if (std::ranges::lexicographical_compare(values(middle), wanted))
      low = middle + 1;
    else
      high = middle;
  }
  if (low == size() || !std::ranges::equal(values(low), wanted)) return std::nullopt;
  return low;
}

std::string Space::describe(int candidate) const {
  return wording_ ? wording_(values(candidate)) : name_of(candidate);
}

std::string Space::name_of(int candidate) const { return tuning::name_of(knobs_, values(candidate)); }

std::optional<int> Space::find(std::string_view name) const {
  const auto wanted = values_of(knobs_, name);
  return wanted ? find(*wanted) : std::nullopt;
}

std::string name_of(std::span<const Knob> knobs, std::span<const int> values) {
  std::string name;
  for (std::size_t k = 0; k < knobs.size(); ++k)
    name += fmt::format("{}{}={}", k == 0 ? "" : ",", knobs[k].name,
                        knobs[k].values[static_cast<std::size_t>(values[k])]);
  return name;
}

std::optional<std::vector<int>> values_of(std::span<const Knob> knobs, std::string_view name) {
  std::vector<int> values;
  for (const Knob& knob : knobs) {
    const std::string_view part = name.substr(0, name.find(','));
    name.remove_prefix(std::min(name.size(), part.size() + 1));
    const std::size_t equals = part.find('=');
    if (equals == std::string_view::npos || part.substr(0, equals) != knob.name) return std::nullopt;
    const auto value = std::ranges::find(knob.values, part.substr(equals + 1));
    if (value == knob.values.end()) return std::nullopt;
    values.push_back(static_cast<int>(value - knob.values.begin()));
  }
  if (!name.empty()) return std::nullopt;
  return values;
}

}  // namespace millrace::tuning
