// A pipeline taken apart at places where one stream of frames is all that has to travel.
#pragma once

#include "millrace/base/result.h"
#include "millrace/cluster/plan/partition.h"
#include "millrace/image/layout/frame_layout.h"
#include "millrace/image/pipeline/pipeline.h"
#include "millrace/video/frame/frame.h"

#include <cstddef>
#include <vector>

namespace millrace::cluster {

// What a section makes of which frames.
struct PipelineSection {
  image::Pipeline pipeline;
  video::FrameFormat input;  // without times: frames follow each other
  video::FrameFormat output;
  image::NeighbouringFrames neighbours;  // of all sections together, those of the whole pipeline
};

// The stages of a pipeline with what they read; without what they cost.
[[nodiscard]] std::vector<StageLoad> loads_of(const image::Pipeline& pipeline);

// Where it may be cut: the stages that could be the first of a section. Nowhere between filters that pass RGB
// on: frames that travel are Y'CbCr.
[[nodiscard]] std::vector<std::size_t> section_places(const image::Pipeline& pipeline);

// The stages [first, first + count) as a pipeline of its own. They must begin and end at the ends of the
// pipeline or at places of section_places().
[[nodiscard]] image::Pipeline section_of(const image::Pipeline& pipeline, std::size_t first,
                                         std::size_t count);

// The sections one after the other. `begins`: the first stages of all but the first of them, growing. Between
// sections there are codes or numbers, plane by plane, as there are between these filters in one run:
// together they make what that makes, bit by bit. Usage error where a section cannot work on what comes.
[[nodiscard]] Result<std::vector<PipelineSection>> take_apart(const image::Pipeline& pipeline,
                                                              const std::vector<std::size_t>& begins,
                                                              const video::FrameFormat& input,
                                                              image::Planes planes);

}  // namespace millrace::cluster
