// A machine and the threads on it, read from TOML:
//
//   [machine]
//   pus = 8
//
//   [[level]]                       # what PUs share, narrowest first
//   name = "module"
//   each = 2                        # neighbouring PUs; or groups = ["0-1", "2,3"]
//   slowdown.fp = {fp = 1.9}        # floating-point work beside floating-point work takes 1.9 times as long
//   slowdown.l2 = {l2 = 2.5, dram = 3.2}
//
//   [[thread]]
//   name = "render"
//   count = 4                       # 1 unless said
//   busy = 0.8                      # 1 unless said
//   demand = {fp = 0.8, l2 = 0.2}
#pragma once

#include "millrace/model/contention/contention.h"

#include <string_view>
#include <vector>

namespace millrace::model {

struct PlacementCase {
  SharedMachine machine;
  std::vector<ContendingThread> threads;
};

// Checked. Usage error that names the file, the line and what is wrong there.
[[nodiscard]] Result<PlacementCase> parse_placement_toml(std::string_view text, std::string_view file_name);

}  // namespace millrace::model
