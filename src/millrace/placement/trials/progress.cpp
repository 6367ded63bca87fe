#include "millrace/placement/trials/progress.h"

#include "millrace/base/text/parse_number.h"

#include <algorithm>
#include <array>
#include <unistd.h>

#include <linux/perf_event.h>
#include <sys/syscall.h>

namespace millrace::placement {
namespace {

constexpr std::size_t longest_line = 4096;

int open_counter(pid_t thread) {
  perf_event_attr attributes{};
  attributes.size = sizeof(attributes);
  attributes.type = PERF_TYPE_HARDWARE;
  attributes.config = PERF_COUNT_HW_INSTRUCTIONS;
  attributes.exclude_kernel = 1;
  attributes.exclude_hv = 1;
  return static_cast<int>(
      syscall(SYS_perf_event_open, &attributes, thread, /*cpu=*/-1, /*group=*/-1, PERF_FLAG_FD_CLOEXEC));
}

}  // namespace

std::string_view name_of(ProgressSource source) {
  switch (source) {
  case ProgressSource::reported:
    return "numbers it reports";
  case ProgressSource::bytes:
    return "bytes read and written";
  case ProgressSource::instructions:
    break;
  }
  return "instructions";
}

Result<ReportReader> ReportReader::make(const std::string& pattern) {
  re2::RE2::Options options;
  options.set_log_errors(false);
  // Output is bytes in any encoding.
  options.set_encoding(re2::RE2::Options::EncodingLatin1);
  auto compiled = std::make_unique<re2::RE2>(pattern, options);
  if (!compiled->ok())
    return usage_error("'{}' is not a regular expression: {}; see docs/exec.md for examples", pattern,
                       compiled->error());
  return ReportReader(std::move(compiled));
}

void ReportReader::take(std::string_view text, std::int64_t time_ns) {
  while (!text.empty()) {
    const std::size_t end = text.find_first_of("\r\n\b");
    const std::string_view part = text.substr(0, end);
    // Longer input cannot be a line of text; the excess is ignored.
    if (line_.size() + part.size() <= longest_line) line_ += part;
    if (end == std::string_view::npos) return;
    if (take_line(line_)) time_ns_ = time_ns;
    line_.clear();
    text.remove_prefix(end + 1);
  }
}

// Returns whether the line reports progress.
bool ReportReader::take_line(std::string_view line) {
  // The match and its first group, if any.
  std::array<re2::StringPiece, 2> found;
  const int groups = std::min(pattern_->NumberOfCapturingGroups(), 1);
  if (!pattern_->Match({line.data(), line.size()}, 0, line.size(), re2::RE2::UNANCHORED, found.data(),
                       groups + 1))
    return false;
  const re2::StringPiece& group = found[static_cast<std::size_t>(groups)];
  const auto number = parse_number<double>({group.data(), group.size()});
  if (!number) {
    total_ = total_.value_or(0) + 1;
    return true;
  }
  total_ = total_.value_or(0) + (*number >= last_ ? *number - last_ : *number);
  last_ = *number;
  return true;
}

InstructionCounters::~InstructionCounters() {
  for (const auto& [thread, counter] : counters_)
    close(counter.file);
}

std::optional<double> InstructionCounters::total(const std::vector<pid_t>& threads) {
  for (auto counter = counters_.begin(); counter != counters_.end();) {
    if (std::ranges::find(threads, counter->first) != threads.end()) {
      ++counter;
      continue;
    }
    std::uint64_t count = 0;
    if (read(counter->second.file, &count, sizeof(count)) == sizeof(count)) counter->second.count = count;
    ended_ += static_cast<double>(counter->second.count);
    close(counter->second.file);
    counter = counters_.erase(counter);
  }
  for (const pid_t thread : threads) {
    if (counters_.contains(thread) || counters_.size() >= most_counters_) continue;
    const int file = open_counter(thread);
    if (file >= 0) counters_[thread].file = file;
  }
  double sum = ended_;
  for (auto& [thread, counter] : counters_) {
    std::uint64_t count = 0;
    if (read(counter.file, &count, sizeof(count)) == sizeof(count)) counter.count = count;
    sum += static_cast<double>(counter.count);
  }
  return sum > 0 ? std::optional(sum) : std::nullopt;
}

std::optional<double> ByteCounter::total(const std::vector<pid_t>& processes) {
  for (auto entry = bytes_.begin(); entry != bytes_.end();) {
    if (std::ranges::find(processes, entry->first) == processes.end()) {
      ended_ += static_cast<double>(entry->second);
      entry = bytes_.erase(entry);
    } else {
      ++entry;
    }
  }
  for (const pid_t process : processes)
    if (const auto bytes = transferred_bytes(process)) bytes_[process] = *bytes;
  if (bytes_.empty() && ended_ == 0) return std::nullopt;
  double sum = ended_;
  for (const auto& [process, bytes] : bytes_)
    sum += static_cast<double>(bytes);
  return sum;
}

}  // namespace millrace::placement
