// ScheduleSearch: the adaptive scheduler of one run, with its profile, and words for what it did.
#pragma once

#include "millrace/image/adapt/adaptive_scheduler.h"
#include "millrace/image/pipeline/pipeline.h"
#include "millrace/run/video/run_record.h"
#include "millrace/run/video/workplace.h"
#include "millrace/tuning/profile/profile_folder.h"
#include "millrace/tuning/profile/profile_store.h"

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace millrace::run {

struct SearchOptions {
  image::AdaptiveOptions adaptive;  // without a profile
  // Whether the arrangements that bind threads here join the freedom's own: of the workers, and of the
  // threads that read and write frames where the run has such.
  bool may_bind = false;
  // The user's own words for what is fixed in the freedom ("fusion": "none"): part of the question that a
  // profile answers.
  std::map<std::string, std::string> fixed;
  // Questions like this one, by their own `fixed`: where it has no profile, that of the first which has one
  // is better than none.
  std::vector<std::map<std::string, std::string>> related;
  std::optional<std::filesystem::path> profiles;  // the store of what runs learn; none: neither used nor kept
  // Of later runs that will begin with what this one learns: a trial may pay for them too.
  std::int64_t frames_after = 0;
  // What the machines of a job learn, for those that begin later.
  std::optional<std::filesystem::path> shared_profiles;
};

class ScheduleSearch {
 public:
  // Starts from the profile of this pipeline, format, budget, objective and machine, where there is one.
  // Workplace and executor must outlive the result.
  [[nodiscard]] static Result<ScheduleSearch> start(Workplace& workplace, image::Executor& executor,
                                                    const SearchOptions& options,
                                                    const image::Pipeline& pipeline, image::Planes planes,
                                                    const image::FrameLayout& layout);

  [[nodiscard]] image::AdaptiveScheduler& scheduler() { return *scheduler_; }

  // Fills in the record, which has the waits of the run, and keeps what was learnt. `pipeline`: with the
  // values of the last frame, which the profile is for.
  void finish(const image::Pipeline& pipeline, RunRecord& record);

 private:
  ScheduleSearch(Workplace& workplace, image::Executor& executor, const SearchOptions& options,
                 image::Planes planes, const image::FrameLayout& layout);

  [[nodiscard]] tuning::ProfileKey key(const image::Pipeline& pipeline,
                                       const std::map<std::string, std::string>& fixed) const;
  void share(const tuning::ProfileKey& key, const tuning::Profile& profile);
  [[nodiscard]] std::optional<tuning::Profile> load(const SearchOptions& options,
                                                    const image::Pipeline& pipeline);

  const machine::MachineReport* machine_;
  image::Executor* executor_;
  std::map<std::string, std::string> fixed_;
  image::Planes planes_;
  image::FrameLayout layout_;
  tuning::Objective objective_;
  int threads_ = 1;
  std::optional<tuning::ProfileStore> store_;
  std::optional<tuning::ProfileFolder> shared_;
  std::vector<std::string> warnings_;
  std::unique_ptr<image::AdaptiveScheduler> scheduler_;
};

}  // namespace millrace::run
