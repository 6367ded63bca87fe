// RunTrace: a timeline of a run in Chrome's trace event format, which browsers and Perfetto display.
#pragma once

#include "millrace/image/execute/call_log.h"
#include "millrace/image/layout/schedule.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace millrace::run {

// Memory is bounded: long runs keep the workers' calls of every second batch, then every fourth, and so on,
// evenly over the whole run. Used by the run's thread.
class RunTrace {
 public:
  static constexpr std::size_t most_calls_of_batch = 20'000;
  static constexpr std::size_t most_calls = 300'000;
  static constexpr std::size_t most_batches = 30'000;

  struct Batch {
    std::int64_t frame = 0;  // number of the first frame
    std::int64_t start_ns = 0;
    std::int64_t end_ns = 0;
  };

  explicit RunTrace(std::int64_t begin_ns) : begin_ns_(begin_ns) {}

  // Adds the next batch, in chronological order. left_out: further calls of the batch that were not logged.
  void add_computing(const Batch& batch, const image::Schedule& schedule,
                     const std::vector<std::vector<image::GroupName>>& groups,
                     const std::vector<image::KernelCall>& calls, std::int64_t left_out);
  // Adds the input wait before `computed_from` and the output wait before `now`; waits are in seconds.
  void add_waiting(std::int64_t computed_from, double input_wait, std::int64_t now, double output_wait);

  // Complete events only, one per line, below 50 MB. Events of one track never overlap. States what was left
  // out.
  [[nodiscard]] std::string to_json(std::string_view name) const;

 private:
  struct Span {
    std::uint32_t name = 0;   // index into names_
    std::uint32_t track = 0;  // 0: the frames, then the workers
    std::uint32_t batch = 0;
    std::int64_t start_ns = 0;
    std::int64_t end_ns = 0;
    image::Rect area;
  };

  [[nodiscard]] std::uint32_t name(const std::string& text);
  void thin();

  std::int64_t begin_ns_;
  std::vector<std::string> names_;
  std::vector<Span> batches_;  // on the frames' track
  std::vector<Span> calls_;
  std::int64_t calls_left_out_ = 0;  // because a batch had too many
  std::int64_t turn_ = 0;            // number of the current batch
  std::int64_t batches_every_ = 1;   // keep every Nth batch
  std::int64_t calls_every_ = 1;     // keep the calls of every Nth batch
};

}  // namespace millrace::run
