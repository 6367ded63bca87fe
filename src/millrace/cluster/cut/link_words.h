// What the ends of a link say to each other before frames are sent: y4m from the producer, from the frame on
// that the consumer asks for. Frames of numbers are as those of y4m, with floats of this machine's byte order
// for samples; where they have no colour left, luma alone.
#pragma once

#include "millrace/video/frame/frame.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace millrace::cluster {

struct LinkRequest {
  std::string job;    // which cut it is; no spaces, as the token
  std::string token;  // who knows it is let in
  int place = 0;      // how many stages the frames asked for have passed
  std::int64_t from = 0;

  bool operator==(const LinkRequest&) const = default;
};

// Longer lines are none.
inline constexpr std::size_t most_request_bytes = 512;

// One line with its end.
[[nodiscard]] std::string to_line(const LinkRequest& request);
// Without its end; nothing where it is no request.
[[nodiscard]] std::optional<LinkRequest> parse_link_request(std::string_view line);

// What comes before the frames: a line with its end, that of y4m where they are.
[[nodiscard]] std::string link_header(const video::FrameFormat& format);

// In the same time whatever they differ in.
[[nodiscard]] bool is_same_secret(std::string_view a, std::string_view b);

}  // namespace millrace::cluster
