// Machines for tests of policy code in this and higher layers: those of the papers, and difficult ones.
#pragma once

#include "millrace/machine/topology/topology.h"

namespace millrace::machine {

// AMD FX-8150: 4 modules of two cores, with one FPU and one L2 per module. Modules {0,1} {2,3} {4,5} {6,7}.
[[nodiscard]] inline Topology bulldozer() {
  return Topology::from_synthetic(
             {.description = "pack:1 l3:1 l2:4 l1i:1 core:2 l1d:1 pu:1", .family = "amd-bulldozer"})
      .value();
}

// IBM POWER7: 8 cores with 4 PUs each.
[[nodiscard]] inline Topology power7() {
  return Topology::from_synthetic({.description = "pack:1 core:8 l3:1 l2:1 l1d:1 pu:4", .family = "power7"})
      .value();
}

// Two sockets, each a NUMA node with 4 cores of 2 PUs: cores {0,1} .. {6,7} and {8,9} .. {14,15}.
[[nodiscard]] inline Topology two_sockets_smt() {
  return Topology::from_synthetic(
             {.description = "pack:2 [numa] l3:1 core:4 l2:1 l1d:1 pu:2", .family = "x86"})
      .value();
}

// 2 fast cores with 2 PUs each, {0,1} {2,3}, and 4 slow cores with 1 PU each: 4, 6, 8, 10.
[[nodiscard]] inline Topology hybrid() {
  return Topology::from_synthetic({.description = "pack:1 l3:1 core:6 l2:1 l1d:1 pu:2",
                                   .family = "x86",
                                   .absent = {5, 7, 9, 11},
                                   .core_kinds = {{4, 6, 8, 10}, {0, 1, 2, 3}}})
      .value();
}

[[nodiscard]] inline Topology single_pu() {
  return Topology::from_synthetic({.description = "pack:1 core:1 l1d:1 pu:1", .family = "x86"}).value();
}

[[nodiscard]] inline Topology two_pus() {
  return Topology::from_synthetic({.description = "pack:1 l3:1 core:2 l2:1 l1d:1 pu:1", .family = "x86"})
      .value();
}

}  // namespace millrace::machine
