#include "millrace/base/options/progress_line.h"

#include "millrace/base/error/clock.h"
#include "millrace/base/text/byte_count.h"
#include "millrace/base/text/print.h"

#include <unistd.h>

#include <fmt/format.h>

namespace millrace {
namespace {

constexpr std::int64_t update_interval_ns = 200'000'000;
constexpr std::string_view erase_line = "\r\x1b[K";

std::string duration(double seconds) {
  const auto whole = static_cast<std::int64_t>(seconds + 0.5);
  return whole < 3600 ? fmt::format("{}:{:02}", whole / 60, whole % 60)
                      : fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
}

}  // namespace

std::string progress_text(std::int64_t done, std::optional<std::int64_t> total, double seconds,
                          const ProgressUnit& unit) {
  const auto amount = [&unit](double count) {
    return unit.bytes ? bytes_text(count) : fmt::format("{:.0f}", count);
  };
  const auto now = static_cast<double>(done);
  const auto whole = static_cast<double>(total.value_or(0));
  std::string text = amount(now);
  if (whole > 0) text += "/" + amount(whole);
  if (!unit.bytes) text += fmt::format(" {}", unit.plural);
  if (seconds <= 0) return text;
  const double rate = now / seconds;
  text +=
      unit.bytes ? fmt::format("  {}/s", bytes_text(rate)) : fmt::format("  {:.1f} {}/s", rate, unit.plural);
  if (whole > now && rate > 0) text += fmt::format("  {} left", duration((whole - now) / rate));
  return text;
}

ProgressLine::ProgressLine(bool enabled, const ProgressUnit& unit)
    : enabled_(enabled && isatty(STDERR_FILENO) == 1), unit_(unit), start_ns_(now_ns()) {}

ProgressLine::~ProgressLine() { clear(); }

void ProgressLine::update(std::int64_t done, std::optional<std::int64_t> total, std::string_view note) {
  if (!enabled_) return;
  const std::int64_t now = now_ns();
  if (now - last_ns_ < update_interval_ns) return;
  last_ns_ = now;
  shown_ = true;
  const std::string text = progress_text(done, total, seconds(now - start_ns_), unit_);
  print_note("{}{}{}{}", erase_line, text, note.empty() ? "" : "  ", note);
}

void ProgressLine::clear() {
  if (!shown_) return;
  shown_ = false;
  print_note("{}", erase_line);
}

}  // namespace millrace
