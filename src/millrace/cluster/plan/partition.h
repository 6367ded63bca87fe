// Which machine does how much of a pipeline. Pure.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace millrace::cluster {

// A stage of a pipeline, as far as a division needs to know it.
struct StageLoad {
  static constexpr int source = -1;

  double seconds = 0;       // of a frame, on a node of speed 1
  double bytes = 0;         // of a frame that it makes
  std::vector<int> inputs;  // earlier stages, or source
};

// What is to be divided.
struct StreamLoad {
  std::vector<StageLoad> stages;  // in topological order; each leads to the last one
  double source_bytes = 0;        // of a frame
  double rate = 0;                // frames a second that are wanted; 0: as many as can be
  // Whether any node can have any frames of it, as of a file that all see: then frames need not travel.
  bool anywhere = false;
  int sections = 0;  // so many, whatever is best; 0: as many as are best
};

// What there is to divide it among.
struct NodeLoads {
  std::vector<double> speeds;  // above 0
  // Bytes a second from one node to another, each above 0; the last row and column are of the place of source
  // and sink. Empty: without limit.
  std::vector<std::vector<double>> links;
};

// Stages that follow each other, on a node.
struct Section {
  std::size_t first = 0;
  std::size_t stages = 0;
  std::size_t node = 0;

  bool operator==(const Section&) const = default;
};

struct Division {
  enum class Kind {
    chunks,  // every node does the whole pipeline, of other frames each
    cut,     // every frame passes all sections, one after the other
  };
  Kind kind = Kind::cut;
  std::vector<Section> sections;
  double rate = 0;  // frames a second that go through
};

// Places where one stream of frames is all that has to travel: the numbers of the stages behind them. A stage
// with two inputs from before such a place would need two.
[[nodiscard]] std::vector<std::size_t> cut_places(std::span<const StageLoad> stages);

// Where frames need not travel, chunks. Else the cut that has the rate wanted with the fewest nodes, of these
// the one with most to spare; or the fastest that there is, where none has it. Stages compute while frames
// travel, so that a cut is as fast as its slowest section or link.
//
// There must be a stage and a node. Exact for up to 10 nodes and 24 places; of more nodes the fastest 10 are
// used, and of more places those between small stages are passed over.
[[nodiscard]] Division partition(const StreamLoad& stream, const NodeLoads& nodes);

}  // namespace millrace::cluster
