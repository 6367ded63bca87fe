// What `millrace run` adds to the adaptive scheduler: profiles, and words for what it did.
#pragma once

#include "millrace/cli/run/run_report.h"
#include "millrace/cli/run/stream_run.h"
#include "millrace/image/adapt/adaptive_scheduler.h"
#include "millrace/tuning/profile/profile_store.h"

#include <memory>
#include <optional>

namespace millrace::cli {

class AdaptiveRun {
 public:
  // Starts from the profile of this pipeline, format, budget, objective and machine, where there is one.
  [[nodiscard]] static Result<AdaptiveRun> start(const RunContext& context, const image::FrameLayout& layout);

  [[nodiscard]] image::AdaptiveScheduler& scheduler() { return *scheduler_; }

  // Fills in the report and keeps what was learnt. `pipeline`: with the values of the last frame, which the
  // profile is for.
  void finish(const image::Pipeline& pipeline, RunReport& report);

 private:
  AdaptiveRun(const RunContext& context, const image::FrameLayout& layout)
      : context_(&context), layout_(layout) {}

  [[nodiscard]] tuning::ProfileKey key(const image::Pipeline& pipeline) const;

  const RunContext* context_;
  image::FrameLayout layout_;
  tuning::Objective objective_;
  int threads_ = 1;
  std::optional<tuning::ProfileStore> store_;
  bool from_profile_ = false;
  std::unique_ptr<image::AdaptiveScheduler> scheduler_;
};

}  // namespace millrace::cli
