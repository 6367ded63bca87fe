// Parameters that change while the frames flow: "--at 300:rotate.degrees=60".
#pragma once

#include "millrace/base/result.h"
#include "millrace/image/pipeline/pipeline.h"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace millrace::image {

// One parameter of one stage. From `first` to `last` it goes in equal steps from the value it had to `value`,
// which it has in frame `last` and after; where both are the same frame it jumps. Frames count from 0.
struct ParameterChange {
  std::int64_t first = 0;
  std::int64_t last = 0;
  std::size_t node = 0;
  std::size_t parameter = 0;
  double value = 0;
};

// "FRAME:STAGE.PARAMETER=VALUE" or "FRAME..FRAME:STAGE.PARAMETER=VALUE". STAGE is the filter's name; where
// the pipeline has it more than once, "rotate#2" is the second of them. Usage error that names what is wrong
// and what is allowed: parameters keep their ranges, only real numbers can go in steps.
[[nodiscard]] Result<ParameterChange> parse_parameter_change(const Pipeline& pipeline, std::string_view text);

// All changes of a run. A value; walks forward only.
class ParameterTimeline {
 public:
  // Usage error where two changes of one parameter overlap.
  [[nodiscard]] static Result<ParameterTimeline> make(const Pipeline& pipeline,
                                                      std::span<const std::string> changes);

  // Whether a parameter has another value in this frame than in the one before.
  [[nodiscard]] bool changes_at(std::int64_t frame) const;
  // The pipeline with the values of this frame.
  [[nodiscard]] Pipeline at(std::int64_t frame) const;
  // At least so many frames lie between two that changes_at() tells of: 1 where a parameter goes in steps.
  [[nodiscard]] std::int64_t steady_frames() const;
  // Frames at which a change is complete, in order.
  [[nodiscard]] std::vector<std::int64_t> ends() const;

 private:
  Pipeline pipeline_;
  std::vector<ParameterChange> changes_;  // by first frame
};

// Whether the pipeline may run best by another schedule than with the values before: a stage that reads from
// elsewhere now reads from clearly elsewhere. What the numbers of other stages are does not show in their
// time.
[[nodiscard]] bool differs_for_schedules(const Pipeline& before, const Pipeline& after);

// Words for all values that differs_for_schedules calls alike (nearly): what profiles are kept by.
[[nodiscard]] std::string parameter_class(const Pipeline& pipeline);

}  // namespace millrace::image
