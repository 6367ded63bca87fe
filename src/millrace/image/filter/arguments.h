// The arguments that a user gives to one filter, checked one by one against its parameters. What the pipeline
// language and TOML files have in common.
//
// Every error is a usage error that names the filter, the parameter, the value and what is allowed, but not
// the place in the user's text: the reader puts that in front.
#pragma once

#include "millrace/base/result.h"
#include "millrace/image/filter/filter.h"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace millrace::image {

class Arguments {
 public:
  // The filter must outlive this.
  explicit Arguments(const Filter& filter);

  // The index of a parameter by name; an error suggests the nearest one.
  [[nodiscard]] Result<std::size_t> find(std::string_view name) const;
  // That there is a parameter for the argument at this position, counted from 0.
  [[nodiscard]] Status check_position(std::size_t index) const;

  // Gives a parameter its value; `index` comes from find or check_position. An error where the parameter has
  // one already, is of another type, or the value is outside its range. `written` is the value as the user
  // wrote it.
  [[nodiscard]] Status set_number(std::size_t index, double value, std::string_view written);
  [[nodiscard]] Status set_choice(std::size_t index, std::string_view name);
  [[nodiscard]] Status set_list(std::size_t index, const std::vector<double>& numbers,
                                std::string_view written);
  // From text: a number or a choice, as the parameter has it.
  [[nodiscard]] Status set_text(std::size_t index, std::string_view text);
  // What to say of a value of a type that no parameter takes.
  [[nodiscard]] Error wrong_value(std::size_t index, std::string_view written) const;

  // All values, defaults filled in; an error where a required one is missing.
  [[nodiscard]] Result<ParameterValues> complete() const;

 private:
  [[nodiscard]] Status set(std::size_t index, double value);

  const Filter* filter_;
  std::vector<std::optional<double>> values_;
  std::vector<double> list_;  // of the last parameter, where that is one and given
};

// What a parameter takes, such as "a number from 0 to 1" or "above or below".
[[nodiscard]] std::string expectation(const Parameter& parameter);

// A value in its shortest spelling that reads back as the same; a choice by its name.
[[nodiscard]] std::string written_value(const Parameter& parameter, double value);
// That of a parameter among all values of its filter; a list as "[1, 2, 1]", which TOML reads too.
[[nodiscard]] std::string written_argument(const Filter& filter, std::size_t index,
                                           const ParameterValues& values);
// Whether it may be left out.
[[nodiscard]] bool is_default(const Parameter& parameter, double value);

}  // namespace millrace::image
