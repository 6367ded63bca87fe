// Divides a pipeline among machines. Pure.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace millrace::cluster {

// A stage of a pipeline, reduced to its load.
struct StageLoad {
  static constexpr int source = -1;

  double seconds = 0;       // per frame, on a node of speed 1
  double bytes = 0;         // per frame of its output
  std::vector<int> inputs;  // earlier stages, or source
};

// The work to divide.
struct StreamLoad {
  std::vector<StageLoad> stages;  // in topological order; each leads to the last one
  double source_bytes = 0;        // per frame
  double rate = 0;                // wanted frames per second; 0: as many as possible
  // Whether any node can read any frame itself, for example from a shared file. Then frames need not travel.
  bool anywhere = false;
  int sections = 0;  // required number of sections; 0: the best number
};

// The nodes to divide it among.
struct NodeLoads {
  std::vector<double> speeds;  // above 0
  // Bytes per second from one node to another, all above 0. The last row and column belong to the place of
  // source and sink. Empty: unlimited.
  std::vector<std::vector<double>> links;
};

// Consecutive stages on a node.
struct Section {
  std::size_t first = 0;
  std::size_t stages = 0;
  std::size_t node = 0;

  bool operator==(const Section&) const = default;
};

struct Division {
  enum class Kind {
    chunks,  // every node runs the whole pipeline on its own frames
    cut,     // every frame passes all sections in turn
  };
  Kind kind = Kind::cut;
  std::vector<Section> sections;
  double rate = 0;  // expected frames per second
};

// Places where only one stream of frames has to travel, as the indices of the following stages. A stage with
// two inputs from before such a place would need two streams.
[[nodiscard]] std::vector<std::size_t> split_places(std::span<const StageLoad> stages);

// Returns chunks if frames need not travel. Otherwise returns the live split that reaches the wanted rate
// with the fewest nodes; of these, the one with the largest reserve. If none reaches the rate, returns the
// fastest. Stages compute while frames travel, so a split is as fast as its slowest section or link.
//
// Requires at least one stage and one node. Exact for up to 10 nodes and 24 places. With more nodes the
// fastest 10 are used, and with more places those between small stages are skipped.
[[nodiscard]] Division partition(const StreamLoad& stream, const NodeLoads& nodes);

}  // namespace millrace::cluster
