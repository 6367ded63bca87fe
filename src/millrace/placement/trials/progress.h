// Progress: how far a program is, by the best available signal.
#pragma once

#include "millrace/base/error/result.h"
#include "millrace/base/file/kept_files.h"
#include "millrace/placement/task/task_files.h"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <re2/re2.h>
#include <sys/types.h>

namespace millrace::placement {

// In order of preference.
enum class ProgressSource {
  reported,      // numbers in the program's output, or on a descriptor that it was given
  bytes,         // read and written by its processes
  instructions,  // retired in user mode, if there is a counter
};
// "numbers it reports", ...
[[nodiscard]] std::string_view name_of(ProgressSource source);

// Finds numbers in a program's output: in each line, the first group of `pattern`, or the whole match if
// there is no group. Newline, carriage return and backspace end a line. If the group is not a number, or the
// pattern has no digits, matches are counted instead. A number below the last one starts a new pass, and the
// sum goes on.
//
// Not thread-safe.
class ReportReader {
 public:
  // Returns a usage error if `pattern` is not an RE2 expression. That is Perl's syntax without constructs
  // that could take more than linear time (backreferences, lookaround).
  [[nodiscard]] static Result<ReportReader> make(const std::string& pattern);

  // Takes the next piece of output, which arrived at `time_ns`.
  void take(std::string_view text, std::int64_t time_ns);
  // Total progress; nothing before the first match.
  [[nodiscard]] std::optional<double> total() const { return total_; }
  // When the last match arrived.
  [[nodiscard]] std::int64_t time_ns() const { return time_ns_; }

 private:
  explicit ReportReader(std::unique_ptr<re2::RE2> pattern) : pattern_(std::move(pattern)) {}
  [[nodiscard]] bool take_line(std::string_view line);

  std::unique_ptr<re2::RE2> pattern_;
  std::string line_;
  std::optional<double> total_;
  std::int64_t time_ns_ = 0;
  double last_ = 0;
};

// Counts retired instructions of threads, as far as the processor and kernel.perf_event_paranoid permit. Not
// thread-safe.
class InstructionCounters {
 public:
  InstructionCounters() = default;
  InstructionCounters(const InstructionCounters&) = delete;
  InstructionCounters& operator=(const InstructionCounters&) = delete;
  ~InstructionCounters();

  // Counts these threads from now on and returns the sum. Counts of threads that are no longer listed stay in
  // it. At most 128 threads are counted, fewer if the limit of open files is low. Returns nothing if none can
  // be counted.
  [[nodiscard]] std::optional<double> total(const std::vector<pid_t>& threads);

 private:
  struct Counter {
    int file = -1;
    std::uint64_t count = 0;
  };
  static constexpr std::size_t most_threads = 128;
  std::size_t most_counters_ = most_kept_files(most_threads);
  std::map<pid_t, Counter> counters_;
  double ended_ = 0;
};

// Bytes transferred by several processes, with the last known values of those that ended.
class ByteCounter {
 public:
  // Returns nothing if no process may be read.
  [[nodiscard]] std::optional<double> total(const std::vector<pid_t>& processes);

 private:
  std::map<pid_t, std::int64_t> bytes_;
  double ended_ = 0;
};

}  // namespace millrace::placement
