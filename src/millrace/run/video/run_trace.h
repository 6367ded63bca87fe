// RunTrace: what a run did when, as browsers and Perfetto show it (Chrome's trace event format).
#pragma once

#include "millrace/image/execute/call_log.h"
#include "millrace/image/layout/schedule.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace millrace::run {

// In bounded memory: where a run has more to tell, what the workers did is kept of every second turn, every
// fourth, and so on, over all of it. Used by the thread of the run.
class RunTrace {
 public:
  static constexpr std::size_t most_calls_of_turn = 20'000;
  static constexpr std::size_t most_calls = 300'000;
  static constexpr std::size_t most_turns = 30'000;

  struct Turn {
    std::int64_t frame = 0;  // the first
    std::int64_t start_ns = 0;
    std::int64_t end_ns = 0;
  };

  explicit RunTrace(std::int64_t begin_ns) : begin_ns_(begin_ns) {}

  // Of one turn of the loop, in this order. left_out: calls that the turn had beside these.
  void add_computing(const Turn& turn, const image::Schedule& schedule,
                     const std::vector<std::vector<image::GroupName>>& groups,
                     const std::vector<image::KernelCall>& calls, std::int64_t left_out);
  // What came before `computed_from`, and before `now`; seconds.
  void add_waiting(std::int64_t computed_from, double input_wait, std::int64_t now, double output_wait);

  // Complete events alone, of which those of one track never overlap, one in each line; below 50 MB. With
  // what was left out.
  [[nodiscard]] std::string to_json(std::string_view name) const;

 private:
  struct Span {
    std::uint32_t name = 0;   // in names_
    std::uint32_t track = 0;  // 0: the frames, then the workers
    std::uint32_t turn = 0;
    std::int64_t start_ns = 0;
    std::int64_t end_ns = 0;
    image::Rect area;
  };

  [[nodiscard]] std::uint32_t name(const std::string& text);
  void thin();

  std::int64_t begin_ns_;
  std::vector<std::string> names_;
  std::vector<Span> turns_;  // of the frames' track
  std::vector<Span> calls_;
  std::int64_t calls_left_out_ = 0;  // as their turn had too many
  std::int64_t turn_ = 0;            // number of the present one
  std::int64_t turns_every_ = 1;     // kept
  std::int64_t calls_every_ = 1;     // kept
};

}  // namespace millrace::run
