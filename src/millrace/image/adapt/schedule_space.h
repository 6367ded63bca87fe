// The schedules that the optimiser may choose from, for one frame layout on one machine. Pure.
#pragma once

#include "millrace/base/error/result.h"
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

// The candidates: schedules that make sense (schedule_rules.h).
class ScheduleSpace {
 public:
  // Returns a usage error if the freedom excludes every schedule.
  [[nodiscard]] static Result<ScheduleSpace> make(const FrameLayout& layout, const ScheduleFreedom& freedom);

  // Has a stable address, because tuners keep it.
  [[nodiscard]] const tuning::Space& space() const { return *space_; }
  // The rules that all candidates obey.
  [[nodiscard]] const ScheduleRules& rules() const { return rules_; }
  [[nodiscard]] int size() const { return space_->size(); }
  [[nodiscard]] Schedule schedule(int candidate) const;
  // The candidate equivalent to this schedule.
  [[nodiscard]] std::optional<int> find(const Schedule& schedule) const;

  // For each candidate, the build that it needs: an index into builds(), or -1.
  [[nodiscard]] const std::vector<int>& build_of() const { return build_of_; }
  [[nodiscard]] const std::vector<KernelBuild>& builds() const { return builds_; }

  // For each candidate, the number of threads it uses.
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
