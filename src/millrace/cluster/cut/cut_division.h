// How a pipeline is divided among nodes that have measured it. Pure.
#pragma once

#include "millrace/base/result.h"
#include "millrace/cluster/cut/pipeline_section.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace millrace::cluster {

// What is to be divided, and how.
struct CutWish {
  image::Pipeline pipeline;
  image::Planes planes = image::Planes::automatic;
  video::FrameFormat input;
  double rate = 0;        // frames a second that are wanted; 0: as many as can be
  int sections = 0;       // 0: as many as are best
  double link_bytes = 0;  // a second, from any machine to any other
};

// What no cut divides, one behind the other: what nodes measure.
struct CutPieces {
  std::vector<std::size_t> begins;  // the first stage of each in the pipeline
  std::vector<PipelineSection> pieces;
};
[[nodiscard]] Result<CutPieces> pieces_of(const CutWish& wish);

// A section, and who is to do it.
struct DividedSection {
  PipelineSection section;
  std::size_t first = 0;  // of its stages in the pipeline
  std::size_t end = 0;
  std::size_t node = 0;
  double seconds = 0;       // of a frame, as that node measured
  std::int64_t beyond = 0;  // frames that come to it beside those of the video, see CutHub
};

struct DividedPipeline {
  std::vector<DividedSection> sections;
  double rate = 0;  // frames a second that are expected
};

// seconds: of each node, for a frame of each piece, above 0; at least one node.
[[nodiscard]] Result<DividedPipeline> divide(const CutWish& wish, const CutPieces& pieces,
                                             std::span<const std::vector<double>> seconds);

}  // namespace millrace::cluster
