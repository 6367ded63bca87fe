// What the head of a cut and its nodes say to each other, a line of JSON each.
//
// A node begins: {"hello": "millrace.cut", "version": 2, "millrace": "0.1", "token": "...", "threads": 4}
// and is told {"say": "welcome", "job": "..."}, or {"say": "refused", "why": "..."}.
//
// Then the head says, and the node answers:
//   {"say": "measure", "planes": "auto", "sections": [{"pipeline", "input", "output"}, ...]}
//     {"say": "measured", "seconds": [of a frame of each]}
//   {"say": "section", ...Assignment}
//     {"say": "serving", "port": 40001}   others can have its frames there
//     {"say": "linked"}                   it has the frames of the section before
//     {"say": "failed", "why": "..."}     where it cannot do it
//     {"say": "trouble", "host": "10.0.0.2", "port": 40000, "why": "..."}  with that producer
//   {"say": "producer", "host": "", "port": 40000}  of the section before; no host: where the head is
//   {"say": "written", "frames": 120}     what was written is not asked for again
//   {"say": "end", "frames": 3000}        so many there are
//   {"say": "stop"}
// and every second the node says {"say": "here"}.
#pragma once

#include "millrace/base/result.h"
#include "millrace/cluster/cut/pipeline_section.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

namespace millrace::cluster {

using Message = nlohmann::json;

inline constexpr const char* cut_protocol = "millrace.cut";
inline constexpr int cut_protocol_version = 2;

// A section, and from where on a node is to do it.
struct Assignment {
  int first = 0;  // how many stages of the whole come before it
  int end = 0;    // and with it
  std::string pipeline;
  std::string planes;
  video::FrameFormat input;
  video::FrameFormat output;
  std::int64_t start = 0;   // the first frame to make
  std::int64_t before = 0;  // frames that its filters read before one and after it
  std::int64_t after = 0;
  std::int64_t beyond = 0;  // so many more frames come to it than the video has, see CutHub
  std::int64_t window = 16;
};

[[nodiscard]] Message to_message(const Assignment& assignment);
[[nodiscard]] Message to_message(const PipelineSection& section);
[[nodiscard]] Message to_message(const video::FrameFormat& format);

// Throw what the JSON library throws where something is missing, and std::string where it cannot be.
[[nodiscard]] Assignment assignment_from(const Message& message);
[[nodiscard]] video::FrameFormat format_from(const Message& message);
[[nodiscard]] std::int64_t frames_of(const Message& message);
[[nodiscard]] int port_of(const Message& message);

// A JSON object with a word "say", or "hello"; a null message where it is none.
[[nodiscard]] Message parse_message(std::string_view line);

}  // namespace millrace::cluster
