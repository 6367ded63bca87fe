// The search space: knobs with named values, and the combinations of them that make sense.
#pragma once

#include "millrace/base/result.h"

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace millrace::tuning {

struct Knob {
  std::string name;                 // "tile_width"; without ',', '=' and blanks
  std::vector<std::string> values;  // in ascending order where ordinal
  bool ordinal = false;             // values next to each other are expected to cost nearly the same
};

// A combination by the names of its values, "structure=tiled,threads=2"; and the other way round, nothing
// where it is none of these knobs.
[[nodiscard]] std::string name_of(std::span<const Knob> knobs, std::span<const int> values);
[[nodiscard]] std::optional<std::vector<int>> values_of(std::span<const Knob> knobs, std::string_view name);

// The candidates are the valid combinations, numbered from 0 in lexicographic order of their values.
// Immutable: may be shared among threads.
class Space {
 public:
  // Says whether a combination makes sense; values[k] is the index of a value of knob k. To be written so
  // that combinations that would run alike are one candidate: a knob without meaning has one valid value.
  using Valid = std::function<bool(std::span<const int> values)>;

  static constexpr int max_candidates = 20'000;
  static constexpr int max_combinations = 4'000'000;

  // A combination in words for people, where the caller has better ones than name_of().
  using Wording = std::function<std::string(std::span<const int> values)>;

  // begins: whether any valid combination may begin with these values of the first knobs, 1 to all but one of
  // them; where it says no, the combinations behind are not asked for one by one. By default all may.
  //
  // Usage error where a knob is misnamed or has no values, nothing is valid or too much is.
  [[nodiscard]] static Result<Space> make(std::vector<Knob> knobs, const Valid& valid, Wording wording = {},
                                          const Valid& begins = {});

  [[nodiscard]] int size() const { return static_cast<int>(values_.size() / knobs_.size()); }
  [[nodiscard]] const std::vector<Knob>& knobs() const { return knobs_; }
  // The value index of each knob; candidate in [0, size()).
  [[nodiscard]] std::span<const int> values(int candidate) const {
    return std::span(values_).subspan(static_cast<std::size_t>(candidate) * knobs_.size(), knobs_.size());
  }
  [[nodiscard]] std::optional<int> find(std::span<const int> values) const;

  // The name under which a candidate is remembered.
  [[nodiscard]] std::string name_of(int candidate) const;
  // In the caller's words; the name where there are none.
  [[nodiscard]] std::string describe(int candidate) const;
  // Nothing where this space does not have it (any more).
  [[nodiscard]] std::optional<int> find(std::string_view name) const;

 private:
  Space() = default;

  std::vector<Knob> knobs_;
  std::vector<int> values_;  // candidate after candidate
  Wording wording_;
};

}  // namespace millrace::tuning
