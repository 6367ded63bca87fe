// Probe results for people and programs.
#pragma once

#include "millrace/machine/probe/pair_judgement.h"
#include "millrace/machine/topology/topology.h"

#include <span>
#include <string>

#include <nlohmann/json_fwd.hpp>

namespace millrace::machine {

// Summarises the probed pairs. The result is as stable as the least stable pair. Pure.
[[nodiscard]] MeasuredSharing measured_sharing(const Topology& topology, std::span<const ProbedPair> pairs);

// Each pair with its state, a matrix for the first pair of each state, and the consequences for the topology.
[[nodiscard]] std::string to_text(const Topology& topology, std::span<const ProbedPair> pairs);
// One line per pair, for continuous display. `probe` counts from 1.
[[nodiscard]] std::string to_lines(std::span<const ProbedPair> pairs, int probe);
// Kernels have the names of the units that they saturate. Values that were not measured are null.
[[nodiscard]] nlohmann::json to_json(const Topology& topology, std::span<const ProbedPair> pairs, int probe);

}  // namespace millrace::machine
