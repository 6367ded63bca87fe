// What a probe of PUs found, for people and for programs.
#pragma once

#include "millrace/machine/probe/pair_judgement.h"
#include "millrace/machine/topology/topology.h"

#include <span>
#include <string>

#include <nlohmann/json_fwd.hpp>

namespace millrace::machine {

// Of a topology, by the pairs that were probed: stable for as many probes as the least stable pair. Pure.
[[nodiscard]] MeasuredSharing measured_sharing(const Topology& topology, std::span<const ProbedPair> pairs);

// Each pair with its state, a matrix for the first pair of each state, and what it means for the topology.
[[nodiscard]] std::string to_text(const Topology& topology, std::span<const ProbedPair> pairs);
// A line for each pair, for looking on; `probe` counts from 1.
[[nodiscard]] std::string to_lines(std::span<const ProbedPair> pairs, int probe);
// Kernels by the names of the units that they keep busy; what was not measured is null.
[[nodiscard]] nlohmann::json to_json(const Topology& topology, std::span<const ProbedPair> pairs, int probe);

}  // namespace millrace::machine
