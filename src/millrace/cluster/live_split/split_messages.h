// The messages between the head of a live split and its nodes, one line of JSON each.
//
// A node begins: {"hello": "millrace.cut", "version": 2, "millrace": "0.1", "token": "...", "threads": 4} The
// answer is {"say": "welcome", "job": "..."}, or {"say": "refused", "why": "..."}.
//
// After that the head speaks, and the node answers (indented):
//   {"say": "measure", "planes": "auto", "sections": [{"pipeline", "input", "output"}, ...]}
//     {"say": "measured", "seconds": [per frame, for each section]}
//   {"say": "section", ...Assignment}
//     {"say": "serving", "port": 40001}   its frames are available there
//     {"say": "linked"}                   it receives the frames of the previous section
//     {"say": "failed", "why": "..."}     it cannot run the section
//     {"say": "trouble", "host": "10.0.0.2", "port": 40000, "why": "..."}  with that producer
//   {"say": "producer", "host": "", "port": 40000}  of the previous section; no host: the head's
//   {"say": "written", "frames": 120}     written frames are not requested again
//   {"say": "end", "frames": 3000}        the total number of frames
//   {"say": "stop"}
// The node also says {"say": "here"} every second.
#pragma once

#include "millrace/base/error/result.h"
#include "millrace/cluster/live_split/pipeline_section.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

namespace millrace::cluster {

using Message = nlohmann::json;

inline constexpr const char* split_protocol = "millrace.cut";
inline constexpr int split_protocol_version = 2;

// A section, and the frame from which a node runs it.
struct Assignment {
  int first = 0;  // index of its first stage in the whole pipeline
  int end = 0;    // index after its last stage
  std::string pipeline;
  std::string planes;
  video::FrameFormat input;
  video::FrameFormat output;
  std::int64_t start = 0;   // the first frame to make
  std::int64_t before = 0;  // frames that its filters read before and after each frame
  std::int64_t after = 0;
  std::int64_t beyond = 0;  // frames that it receives in addition to those of the video, see SplitHub
  std::int64_t window = 16;
};

[[nodiscard]] Message to_message(const Assignment& assignment);
[[nodiscard]] Message to_message(const PipelineSection& section);
[[nodiscard]] Message to_message(const video::FrameFormat& format);

// Throw the JSON library's exceptions if something is missing, and std::string if a value is invalid.
[[nodiscard]] Assignment assignment_from(const Message& message);
[[nodiscard]] video::FrameFormat format_from(const Message& message);
[[nodiscard]] std::int64_t frames_of(const Message& message);
[[nodiscard]] int port_of(const Message& message);

// Returns a JSON object with a word "say" or "hello". Returns a null message if the line is not one.
[[nodiscard]] Message parse_message(std::string_view line);

}  // namespace millrace::cluster
