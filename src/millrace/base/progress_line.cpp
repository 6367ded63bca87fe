#include "millrace/base/progress_line.h"

#include "millrace/base/clock.h"

#include <cstdio>
#include <string>
#include <unistd.h>

#include <fmt/format.h>

namespace millrace {
namespace {

constexpr std::int64_t update_interval_ns = 200'000'000;

std::string duration(double seconds) {
  const auto whole = static_cast<std::int64_t>(seconds + 0.5);
  return whole < 3600 ? fmt::format("{}:{:02}", whole / 60, whole % 60)
                      : fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
}

}  // namespace

ProgressLine::ProgressLine(bool enabled)
    : enabled_(enabled && isatty(STDERR_FILENO) == 1), start_ns_(now_ns()) {}

ProgressLine::~ProgressLine() { clear(); }

void ProgressLine::update(std::int64_t done, std::optional<std::int64_t> total, std::string_view note) {
  if (!enabled_) return;
  const std::int64_t now = now_ns();
  if (now - last_ns_ < update_interval_ns) return;
  last_ns_ = now;
  shown_ = true;
  const double rate = static_cast<double>(done) / seconds(now - start_ns_);
  std::string line = fmt::format("\r\x1b[K{}", done);
  if (total && *total > 0) line += fmt::format("/{}", *total);
  line += fmt::format(" frames  {:.1f} fps", rate);
  if (total && *total > done && rate > 0)
    line += fmt::format("  {} left", duration(static_cast<double>(*total - done) / rate));
  line += fmt::format("  {}", note);
  std::fputs(line.c_str(), stderr);
  std::fflush(stderr);
}

void ProgressLine::clear() {
  if (!shown_) return;
  std::fputs("\r\x1b[K", stderr);
  std::fflush(stderr);
  shown_ = false;
}

}  // namespace millrace
