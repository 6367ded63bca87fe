// Positional arguments of the comparison programs: optional whole numbers.
#pragma once

#include "millrace/base/text/parse_number.h"

namespace millrace {

// Argument `index`, which must be above 0. Returns `otherwise` if it is missing, and -1 if it is invalid.
[[nodiscard]] inline int count_argument(int argc, char** argv, int index, int otherwise) {
  if (index >= argc) return otherwise;
  const auto value = parse_number<int>(argv[index]);
  return value && *value > 0 ? *value : -1;
}

}  // namespace millrace
