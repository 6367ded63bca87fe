// Divides a pipeline among nodes by their own measurements. Pure.
#pragma once

#include "millrace/base/error/result.h"
#include "millrace/cluster/live_split/pipeline_section.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace millrace::cluster {

// The pipeline to divide, and the requirements.
struct SplitWish {
  image::Pipeline pipeline;
  image::Planes planes = image::Planes::automatic;
  video::FrameFormat input;
  double rate = 0;        // wanted frames per second; 0: as many as possible
  int sections = 0;       // 0: the best number
  double link_bytes = 0;  // per second, between any two machines
};

// The indivisible pieces of the pipeline, in order. Nodes measure these.
struct SplitPieces {
  std::vector<std::size_t> begins;  // index of each piece's first stage in the pipeline
  std::vector<PipelineSection> pieces;
};
[[nodiscard]] Result<SplitPieces> pieces_of(const SplitWish& wish);

// A section and the node that runs it.
struct DividedSection {
  PipelineSection section;
  std::size_t first = 0;  // of its stages in the pipeline
  std::size_t end = 0;
  std::size_t node = 0;
  double seconds = 0;       // per frame, as measured by that node
  std::int64_t beyond = 0;  // frames that it receives in addition to those of the video, see SplitHub
};

struct DividedPipeline {
  std::vector<DividedSection> sections;
  double rate = 0;  // expected frames per second
};

// seconds: for each node, the time of a frame in each piece, above 0. At least one node.
[[nodiscard]] Result<DividedPipeline> divide(const SplitWish& wish, const SplitPieces& pieces,
                                             std::span<const std::vector<double>> seconds);

}  // namespace millrace::cluster
