// Splits a pipeline at places where only one stream of frames has to travel.
#pragma once

#include "millrace/base/error/result.h"
#include "millrace/cluster/plan/partition.h"
#include "millrace/image/layout/frame_layout.h"
#include "millrace/image/pipeline/pipeline.h"
#include "millrace/video/frame/frame.h"

#include <cstddef>
#include <vector>

namespace millrace::cluster {

// A section, with its input and output formats.
struct PipelineSection {
  image::Pipeline pipeline;
  video::FrameFormat input;  // without times: frames follow each other
  video::FrameFormat output;
  image::NeighbouringFrames neighbours;  // those of all sections together are those of the whole pipeline
};

// The stages of a pipeline with their inputs, but without costs.
[[nodiscard]] std::vector<StageLoad> loads_of(const image::Pipeline& pipeline);

// The possible first stages of a section. There are none between filters that pass RGB on, because frames
// travel as Y'CbCr.
[[nodiscard]] std::vector<std::size_t> section_places(const image::Pipeline& pipeline);

// The stages [first, first + count) as a pipeline of their own. Both ends must be ends of the pipeline or
// places from section_places().
[[nodiscard]] image::Pipeline section_of(const image::Pipeline& pipeline, std::size_t first,
                                         std::size_t count);

// The sections in order. `begins`: the first stages of all sections but the first, increasing. Between
// sections frames hold codes or numbers, plane by plane, as they do between these filters in a single run. So
// the combined output is bit-identical. Returns a usage error if a section cannot process its input.
[[nodiscard]] Result<std::vector<PipelineSection>> take_apart(const image::Pipeline& pipeline,
                                                              const std::vector<std::size_t>& begins,
                                                              const video::FrameFormat& input,
                                                              image::Planes planes);

}  // namespace millrace::cluster
