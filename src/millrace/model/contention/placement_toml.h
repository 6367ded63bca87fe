// A machine and the threads on it, read from TOML:
//
//   [machine]
//   pus = 8                         # or family = "power7", and synthetic = "pack:1 l3:1 core:8 l2:1 l1d:1
//   pu:2" (as
//                                   # hwloc describes machines) unless a typical one of the family is meant
//
//   [[level]]                       # what PUs share, narrowest first
//   name = "module"
//   each = 2                        # neighbouring PUs; or groups = ["0-1", "2,3"]
//   slowdown.fp = {fp = 1.9}        # floating-point work beside floating-point work takes 1.9 times as long
//   slowdown.l2 = {l2 = 2.5, dram = 3.2}
//   grows = "time"                  # with the number of partners; "speed": see Growth
//
//   [[thread]]
//   name = "render"
//   count = 4                       # 1 unless said
//   busy = 0.8                      # 1 unless said
//   demand = {fp = 0.8, l2 = 0.2}
//   pages = [1, 0]                  # where its memory lies, by node; near from everywhere unless said
//   data = "frame"                  # on which it works together with others that say so
//   overlap = 0.9                   # the share of its memory that this is; 1 unless said
//
// The levels of a family are those of its unit traits, unless the file has [[level]]s of its own.
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

// Checked. Usage error that names the file, the line and what is wrong there.
[[nodiscard]] Result<PlacementCase>
parse_placement_toml(std::string_view text, std::string_view file_name,
                     const machine::UnitFamilies& families = machine::UnitFamilies::built_in());

}  // namespace millrace::model
