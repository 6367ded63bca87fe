// The arguments of programs that compare: whole numbers by their place, all of which may be left out.
#pragma once

#include "millrace/base/parse_number.h"

namespace millrace {

// Argument `index`, a number above 0; `otherwise` where there is none, -1 where it is no such number.
[[nodiscard]] inline int count_argument(int argc, char** argv, int index, int otherwise) {
  if (index >= argc) return otherwise;
  const auto value = parse_number<int>(argv[index]);
  return value && *value > 0 ? *value : -1;
}

}  // namespace millrace
