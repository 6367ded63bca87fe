// Reads the frames of one chunk and the neighbouring frames that its filters need.
#pragma once

#include "millrace/cluster/plan/job_plan.h"
#include "millrace/video/frame/frame_reader.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace millrace::cluster {

// The position from which a chunk was finally decoded.
enum class DecodedFrom { key, earlier_key, beginning };
// "the key frame before it", ...
[[nodiscard]] std::string_view name_of(DecodedFrom from);

// Filled in by the reading thread while a chunk is read. Valid when it is done.
struct ChunkReading {
  DecodedFrom from = DecodedFrom::key;
  std::int64_t decoded = 0;  // frames, over all attempts
  std::string first_reason;  // why the first attempt failed; empty if it succeeded
};

using OpenReader = std::function<Result<std::unique_ptr<video::FrameReader>>(const video::ReaderOptions&)>;

// Delivers the frames that the plan lists for a chunk and around it, with times on the output's clock,
// numbered from 0. If the decoded frames do not match the plan, it tries again from one keyframe earlier,
// then from the beginning of the video. If they still do not match, it fails and names the frame. A reader
// whose frames have no times is read from its beginning, and its frames get times from their numbers.
//
// `open` opens the whole input. plan and reading must outlive the reader.
[[nodiscard]] Result<std::unique_ptr<video::FrameReader>> open_chunk(const JobPlan& plan, const ChunkCut& cut,
                                                                     const OpenReader& open,
                                                                     const video::ReaderOptions& options,
                                                                     ChunkReading& reading);

}  // namespace millrace::cluster
