// Reads a machine and its threads from TOML:
//
//   [machine]
//   pus = 8                         # or family = "power7", with an optional machine in hwloc notation:
//                                   # synthetic = "pack:1 l3:1 core:8 l2:1 l1d:1 pu:2"
//
//   [[level]]                       # units shared by PUs, narrowest level first
//   name = "module"
//   each = 2                        # neighbouring PUs; or groups = ["0-1", "2,3"]
//   slowdown.fp = {fp = 1.9}        # floating-point work next to floating-point work takes 1.9 times as long
//   slowdown.l2 = {l2 = 2.5, dram = 3.2}
//   grows = "time"                  # with the number of partners; "speed": see Growth
//
//   [[thread]]
//   name = "render"
//   count = 4                       # default 1
//   busy = 0.8                      # default 1
//   demand = {fp = 0.8, l2 = 0.2}
//   pages = [1, 0]                  # shares of its memory by node; default: equally near everywhere
//   data = "frame"                  # data shared with all threads that name it
//   overlap = 0.9                   # the share of its memory that this is; default 1
//
// The levels of a family are those of its unit traits, unless the file has its own [[level]]s.
#pragma once

#include "millrace/machine/units/unit_families.h"
#include "millrace/model/contention/contention.h"

#include <string_view>
#include <vector>

namespace millrace::model {

struct PlacementCase {
  SharedMachine machine;
  std::vector<ContendingThread> threads;
};

// The result is checked. Usage errors name the file, the line and the problem.
[[nodiscard]] Result<PlacementCase>
parse_placement_toml(std::string_view text, std::string_view file_name,
                     const machine::UnitFamilies& families = machine::UnitFamilies::built_in());

}  // namespace millrace::model
