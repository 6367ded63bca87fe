// ScheduleSearch: the adaptive scheduler of one run, with its stored profile and texts for people.
#pragma once

#include "millrace/image/adapt/adaptive_scheduler.h"
#include "millrace/image/pipeline/pipeline.h"
#include "millrace/run/video/execution_context.h"
#include "millrace/run/video/run_record.h"
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
  image::AdaptiveOptions adaptive;  // without the profile
  // Adds the pinning arrangements that are possible here to the search: those for workers, and those for I/O
  // threads if the run has its own.
  bool may_bind = false;
  // The user's words for what is fixed in the search ("fusion": "none"). Part of the profile's key.
  std::map<std::string, std::string> fixed;
  // Keys of similar searches, by their own `fixed`. If this search has no profile, the first one found under
  // these keys is used.
  std::vector<std::map<std::string, std::string>> related;
  std::optional<std::filesystem::path> profiles;  // store of learned profiles; nullopt: neither read nor
                                                  // written
  // Frames of later runs that will start from this profile. A trial can pay off in them too.
  std::int64_t frames_after = 0;
  // Profiles shared by the machines of a job, for runs that begin later.
  std::optional<std::filesystem::path> shared_profiles;
};

class ScheduleSearch {
 public:
  // Starts from the profile for this pipeline, format, budget, objective and machine, if there is one. The
  // execution context and the executor must outlive the result.
  [[nodiscard]] static Result<ScheduleSearch> start(ExecutionContext& context, image::Executor& executor,
                                                    const SearchOptions& options,
                                                    const image::Pipeline& pipeline, image::Planes planes,
                                                    const image::FrameLayout& layout);

  [[nodiscard]] image::AdaptiveScheduler& scheduler() { return *scheduler_; }

  // Fills in the record, which must have the run's waits, and saves the profile. `pipeline`: with the
  // parameters of the last frame, which the profile applies to. `start`: as for PipelineRunner::finish.
  void finish(const image::Pipeline& pipeline, std::optional<double> start, RunRecord& record);

 private:
  ScheduleSearch(ExecutionContext& context, image::Executor& executor, const SearchOptions& options,
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
