// The header lines of a link. The consumer requests frames from a number on, and the producer sends them as
// y4m. Frames of numbers use the y4m framing, with floats in this machine's byte order as samples. If they
// have no colour left, only luma is sent.
#pragma once

#include "millrace/video/frame/frame.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace millrace::cluster {

struct LinkRequest {
  std::string job;    // identifies the live split; without spaces, like the token
  std::string token;  // the secret that admits the consumer
  int place = 0;      // number of stages that the requested frames have passed
  std::int64_t from = 0;

  bool operator==(const LinkRequest&) const = default;
};

// Longer lines are invalid.
inline constexpr std::size_t most_request_bytes = 512;

// One line, including its line end.
[[nodiscard]] std::string to_line(const LinkRequest& request);
// Takes a line without its line end. Empty if it is not a request.
[[nodiscard]] std::optional<LinkRequest> parse_link_request(std::string_view line);

// The line before the frames, including its line end. For frames that y4m can express, it is the y4m header.
[[nodiscard]] std::string link_header(const video::FrameFormat& format);

// Takes the same time wherever they differ.
[[nodiscard]] bool is_same_secret(std::string_view a, std::string_view b);

}  // namespace millrace::cluster
