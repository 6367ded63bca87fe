// Checks the arguments that a user gives to one filter against its parameters. Shared by the pipeline
// language and TOML files.
//
// Every error is a usage error that names the filter, the parameter, the value and the allowed values. It
// does not give the position in the user's text: the reader prepends that.
#pragma once

#include "millrace/base/error/result.h"
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

  // Index of the parameter of this name. The error suggests the nearest name.
  [[nodiscard]] Result<std::size_t> find(std::string_view name) const;
  // Returns an error if the filter has no parameter at this position, counted from 0.
  [[nodiscard]] Status check_position(std::size_t index) const;

  // Sets a parameter; `index` comes from find or check_position. Returns an error if the parameter is already
  // set, has another type, or the value is out of range. `written` is the value as the user wrote it.
  [[nodiscard]] Status set_number(std::size_t index, double value, std::string_view written);
  [[nodiscard]] Status set_choice(std::size_t index, std::string_view name);
  [[nodiscard]] Status set_list(std::size_t index, const std::vector<double>& numbers,
                                std::string_view written);
  // Parses a number or a choice, depending on the parameter's type.
  [[nodiscard]] Status set_text(std::size_t index, std::string_view text);
  // The error for a value whose type no parameter accepts.
  [[nodiscard]] Error wrong_value(std::size_t index, std::string_view written) const;

  // All values, with defaults filled in. Returns an error if a required one is missing.
  [[nodiscard]] Result<ParameterValues> complete() const;

 private:
  [[nodiscard]] Status set(std::size_t index, double value);

  const Filter* filter_;
  std::vector<std::optional<double>> values_;
  std::vector<double> list_;  // numbers of the list parameter, if the filter has one and it is set
};

// Describes the accepted values, such as "a number from 0 to 1" or "above or below".
[[nodiscard]] std::string expectation(const Parameter& parameter);

// The shortest text that reads back as the same value; the name of a choice.
[[nodiscard]] std::string written_value(const Parameter& parameter, double value);
// Text of one of a filter's values. A list is written as "[1, 2, 1]", which TOML reads too.
[[nodiscard]] std::string written_argument(const Filter& filter, std::size_t index,
                                           const ParameterValues& values);
// Whether the argument may be omitted.
[[nodiscard]] bool is_default(const Parameter& parameter, double value);

}  // namespace millrace::image
