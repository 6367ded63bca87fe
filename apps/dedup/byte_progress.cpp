#include "dedup/byte_progress.h"

#include <array>
#include <cstdio>
#include <string_view>
#include <unistd.h>

#include <fmt/format.h>

namespace millrace::dedup {
namespace {

constexpr std::int64_t update_interval_ns = 200'000'000;
constexpr std::string_view erase_line = "\r\x1b[K";

}  // namespace

std::string bytes_text(double bytes) {
  if (bytes < 1000) return fmt::format("{} bytes", bytes);
  constexpr std::array units{"kB", "MB", "GB", "TB", "PB"};
  std::size_t unit = 0;
  bytes /= 1000;
  for (; bytes >= 1000 && unit + 1 < units.size(); ++unit)
    bytes /= 1000;
  return fmt::format("{:.1f} {}", bytes, units[unit]);
}

ByteProgress::ByteProgress(bool enabled, std::optional<std::uint64_t> total)
    : enabled_(enabled && isatty(STDERR_FILENO) == 1), total_(total) {}

ByteProgress::~ByteProgress() { clear(); }

void ByteProgress::clear() {
  if (!shown_) return;
  shown_ = false;
  fmt::print(stderr, "{}", erase_line);
  static_cast<void>(std::fflush(stderr));
}

void ByteProgress::update(std::uint64_t done) {
  if (!enabled_) return;
  const std::int64_t now = now_ns();
  if (now - last_ns_ < update_interval_ns) return;
  last_ns_ = now;
  shown_ = true;
  const double rate = static_cast<double>(done) / seconds(now - start_ns_);
  std::string line = fmt::format("{}{}", erase_line, bytes_text(static_cast<double>(done)));
  if (total_ && *total_ > 0)
    line += fmt::format(" of {} ({:.0f} %)", bytes_text(static_cast<double>(*total_)),
                        100 * static_cast<double>(done) / static_cast<double>(*total_));
  line += fmt::format("  {}/s", bytes_text(rate));
  if (total_ && *total_ > done && rate > 0)
    line += fmt::format("  {:.0f} s left", static_cast<double>(*total_ - done) / rate);
  fmt::print(stderr, "{}", line);
  static_cast<void>(std::fflush(stderr));
}

}  // namespace millrace::dedup
