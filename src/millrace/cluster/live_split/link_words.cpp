#include "millrace/cluster/live_split/link_words.h"

#include "millrace/base/text/parse_number.h"
#include "millrace/video/y4m/y4m_header.h"

#include <array>

#include <fmt/format.h>

namespace millrace::cluster {
namespace {

constexpr std::string_view request_magic = "millrace-link-1";

}  // namespace

std::string to_line(const LinkRequest& request) {
  return fmt::format("{} {} {} {} {}\n", request_magic, request.job, request.place, request.from,
                     request.token);
}

std::optional<LinkRequest> parse_link_request(std::string_view line) {
  std::array<std::string_view, 5> words;
  for (std::string_view& word : words) {
    const std::size_t space = std::min(line.find(' '), line.size());
    word = line.substr(0, space);
    line.remove_prefix(std::min(space + 1, line.size()));
  }
  const auto place = parse_number<int>(words[2]);
  const auto from = parse_number<std::int64_t>(words[3]);
  if (words[0] != request_magic || !place || !from || *from < 0 || !line.empty()) return std::nullopt;
  return LinkRequest{std::string(words[1]), std::string(words[4]), *place, *from};
}

std::string link_header(const video::FrameFormat& format) {
  std::string header = video::y4m_header(format);
  if (!video::is_of_codes(format)) header += fmt::format(" XMILLRACE={}", video::to_string(format.forms));
  return header + '\n';
}

bool is_same_secret(std::string_view a, std::string_view b) {
  unsigned differs = a.size() == b.size() ? 0U : 1U;
  for (std::size_t i = 0; i < a.size(); ++i)
    differs |= static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(i < b.size() ? b[i] : '\0');
  return differs == 0;
}

}  // namespace millrace::cluster
