// The search space: knobs with named values, and their valid combinations.
#pragma once

#include "millrace/base/error/result.h"

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace millrace::tuning {

struct Knob {
  std::string name;                 // "tile_width"; must not contain ',', '=' or blanks
  std::vector<std::string> values;  // ascending if ordinal
  bool ordinal = false;             // neighbouring values are expected to have similar costs
};

// Converts a combination to a name made of its values, "structure=tiled,threads=2", and back. values_of()
// returns nothing if the name does not match these knobs.
[[nodiscard]] std::string name_of(std::span<const Knob> knobs, std::span<const int> values);
[[nodiscard]] std::optional<std::vector<int>> values_of(std::span<const Knob> knobs, std::string_view name);

// The candidates are the valid combinations, numbered from 0 in lexicographic order of their values.
// Immutable, so threads may share it.
class Space {
 public:
  // Whether a combination is valid; values[k] is the index of a value of knob k. Combinations that run
  // identically should be one candidate: give a meaningless knob a single valid value.
  using Valid = std::function<bool(std::span<const int> values)>;

  static constexpr int max_candidates = 20'000;
  static constexpr int max_combinations = 4'000'000;

  // Describes a combination for people, if the caller has better words than name_of().
  using Wording = std::function<std::string(std::span<const int> values)>;

  // begins: whether any valid combination may begin with these values of the first knobs (from 1 knob to all
  // but one). If it returns false, the combinations with this prefix are skipped. By default nothing is
  // skipped.
  //
  // Usage error if a knob has an invalid name or no values, or if there are no valid combinations or too
  // many.
  [[nodiscard]] static Result<Space> make(std::vector<Knob> knobs, const Valid& valid, Wording wording = {},
                                          const Valid& begins = {});

  [[nodiscard]] int size() const { return static_cast<int>(values_.size() / knobs_.size()); }
  [[nodiscard]] const std::vector<Knob>& knobs() const { return knobs_; }
  // The value index of each knob. Requires candidate in [0, size()).
  [[nodiscard]] std::span<const int> values(int candidate) const {
    return std::span(values_).subspan(static_cast<std::size_t>(candidate) * knobs_.size(), knobs_.size());
  }
  [[nodiscard]] std::optional<int> find(std::span<const int> values) const;

  // The name under which a candidate is remembered.
  [[nodiscard]] std::string name_of(int candidate) const;
  // The caller's description, or else the name.
  [[nodiscard]] std::string describe(int candidate) const;
  // Returns nothing if the space does not (or no longer) contain this candidate.
  [[nodiscard]] std::optional<int> find(std::string_view name) const;

 private:
  Space() = default;

  std::vector<Knob> knobs_;
  std::vector<int> values_;  // concatenated for all candidates
  Wording wording_;
};

}  // namespace millrace::tuning
