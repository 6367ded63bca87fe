// Parameters that change during a run: "--at 300:rotate.degrees=60".
#pragma once

#include "millrace/base/error/result.h"
#include "millrace/image/pipeline/pipeline.h"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace millrace::image {

// A change of one parameter of one stage. From frame `first` to `last` the parameter moves in equal steps
// from its old value to `value`, and keeps that value after `last`. If both are the same frame, it jumps.
// Frames count from 0.
struct ParameterChange {
  std::int64_t first = 0;
  std::int64_t last = 0;
  std::size_t node = 0;
  std::size_t parameter = 0;
  double value = 0;
};

// Parses "FRAME:STAGE.PARAMETER=VALUE" or "FRAME..FRAME:STAGE.PARAMETER=VALUE". STAGE is the filter's name;
// "rotate#2" is the second stage of that name. Returns a usage error that names the mistake and the allowed
// values: ranges still apply, and only real parameters can move in steps.
[[nodiscard]] Result<ParameterChange> parse_parameter_change(const Pipeline& pipeline, std::string_view text);

// All changes of a run, as a value.
class ParameterTimeline {
 public:
  // Returns a usage error if two changes of one parameter overlap.
  [[nodiscard]] static Result<ParameterTimeline> make(const Pipeline& pipeline,
                                                      std::span<const std::string> changes);

  // Whether a parameter has a different value in this frame than in the previous one.
  [[nodiscard]] bool changes_at(std::int64_t frame) const;
  // The pipeline with the parameter values of this frame.
  [[nodiscard]] Pipeline at(std::int64_t frame) const;
  // Minimum distance in frames between two frames for which changes_at() is true: 1 if a parameter moves in
  // steps.
  [[nodiscard]] std::int64_t steady_frames() const;
  // Frames in which a change is complete, in order.
  [[nodiscard]] std::vector<std::int64_t> ends() const;

 private:
  Pipeline pipeline_;
  std::vector<ParameterChange> changes_;  // by first frame
};

// Whether the best schedule may differ from that for the old values: a stage that reads other places now
// reads clearly different ones. Parameters of other stages do not affect their time.
[[nodiscard]] bool differs_for_schedules(const Pipeline& before, const Pipeline& after);

// A text that is (nearly always) the same for values that differs_for_schedules does not tell apart. Part of
// the key of profiles.
[[nodiscard]] std::string parameter_class(const Pipeline& pipeline);

}  // namespace millrace::image
