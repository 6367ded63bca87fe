// The frames of one chunk, with those around it that they are made of, and no others.
#pragma once

#include "millrace/cluster/plan/job_plan.h"
#include "millrace/video/frame/frame_reader.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace millrace::cluster {

// From where a chunk was decoded in the end.
enum class DecodedFrom { key, earlier_key, beginning };
// "the key frame before it", ...
[[nodiscard]] std::string_view name_of(DecodedFrom from);

// Filled in while a chunk is read. Written by the thread that reads; to be read when it is done.
struct ChunkReading {
  DecodedFrom from = DecodedFrom::key;
  std::int64_t decoded = 0;  // frames, by all attempts together
  std::string first_reason;  // why the first attempt was not enough; empty where it was
};

using OpenReader = std::function<Result<std::unique_ptr<video::FrameReader>>(const video::ReaderOptions&)>;

// Delivers the frames that the plan lists for a chunk and around it, each at its time on the output's clock,
// numbered from 0. Where what is decoded is not what the plan says, it tries again from one key frame
// earlier, then from the beginning of the video; where that is not it either, it fails and names the frame. A
// reader whose frames have no times is read from its beginning, and its frames get times by their numbers.
//
// `open` opens the whole input. plan and reading must outlive the reader.
[[nodiscard]] Result<std::unique_ptr<video::FrameReader>> open_chunk(const JobPlan& plan, const ChunkCut& cut,
                                                                     const OpenReader& open,
                                                                     const video::ReaderOptions& options,
                                                                     ChunkReading& reading);

}  // namespace millrace::cluster
