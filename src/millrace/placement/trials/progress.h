// Progress: how far a program is, by the best signal that it gives.
#pragma once

#include "millrace/base/kept_files.h"
#include "millrace/base/result.h"
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
  reported,      // numbers in the program's output, or on a descriptor it was given
  bytes,         // read and written by its processes
  instructions,  // retired in user mode, where there is a counter
};
// "numbers it reports", ...
[[nodiscard]] std::string_view name_of(ProgressSource source);

// Finds numbers in what a program writes: the first group of `pattern` where it has one, else the match, in
// each line; newline, carriage return and backspace end a line. A group that is no number, and a pattern
// without digits, count matches instead. A number below the last one begins anew (a second pass): the sum
// goes on.
//
// Used by one thread at a time.
class ReportReader {
 public:
  // Usage error where `pattern` is no regular expression of RE2: as of Perl, without what would take more
  // time than a line is long (references back, looking ahead and behind).
  [[nodiscard]] static Result<ReportReader> make(const std::string& pattern);

  // The next piece of output, which came at `time_ns`.
  void take(std::string_view text, std::int64_t time_ns);
  // How far it is; nothing until the first match.
  [[nodiscard]] std::optional<double> total() const { return total_; }
  // When the last match came.
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

// Counts retired instructions of threads, as far as the processor and kernel.perf_event_paranoid let it.
// Used by one thread at a time.
class InstructionCounters {
 public:
  InstructionCounters() = default;
  InstructionCounters(const InstructionCounters&) = delete;
  InstructionCounters& operator=(const InstructionCounters&) = delete;
  ~InstructionCounters();

  // Counts these threads from now on; the counts of threads that are no longer named are kept in the sum. At
  // most 128 threads are counted, fewer where few files may be open. Nothing where none can be.
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

// Bytes of several processes, those that ended included as far as they were read.
class ByteCounter {
 public:
  // Nothing where no process may be read.
  [[nodiscard]] std::optional<double> total(const std::vector<pid_t>& processes);

 private:
  std::map<pid_t, std::int64_t> bytes_;
  double ended_ = 0;
};

}  // namespace millrace::placement
