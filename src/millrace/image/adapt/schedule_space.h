// The schedules that the optimiser may choose from, for one frame layout on one machine. Pure.
#pragma once

#include "millrace/base/result.h"
#include "millrace/image/adapt/kernel_build.h"
#include "millrace/image/adapt/schedule_knobs.h"
#include "millrace/image/adapt/schedule_rules.h"
#include "millrace/image/layout/frame_layout.h"
#include "millrace/image/layout/schedule.h"
#include "millrace/tuning/space/space.h"

#include <memory>
#include <optional>
#include <vector>

namespace millrace::image {

// Candidates are schedules that make sense (schedule_rules.h).
class ScheduleSpace {
 public:
  // Usage error where the freedom leaves no schedule.
  [[nodiscard]] static Result<ScheduleSpace> make(const FrameLayout& layout, const ScheduleFreedom& freedom);

  // At a fixed address: tuners keep it.
  [[nodiscard]] const tuning::Space& space() const { return *space_; }
  // What its candidates obey.
  [[nodiscard]] const ScheduleRules& rules() const { return rules_; }
  [[nodiscard]] int size() const { return space_->size(); }
  [[nodiscard]] Schedule schedule(int candidate) const;
  // The candidate that runs as this schedule does.
  [[nodiscard]] std::optional<int> find(const Schedule& schedule) const;

  // For each candidate, what must be compiled before it can run: an index into builds(), or -1.
  [[nodiscard]] const std::vector<int>& build_of() const { return build_of_; }
  [[nodiscard]] const std::vector<KernelBuild>& builds() const { return builds_; }

  // For each candidate, the threads it occupies.
  [[nodiscard]] std::vector<double> threads() const;

 private:
  ScheduleSpace(const FrameLayout& layout, const ScheduleFreedom& freedom)
      : knobs_(ScheduleKnobs::of(freedom)), rules_(layout, freedom) {}

  ScheduleKnobs knobs_;
  ScheduleRules rules_;
  std::unique_ptr<tuning::Space> space_;
  std::vector<int> build_of_;
  std::vector<KernelBuild> builds_;
};

}  // namespace millrace::image
