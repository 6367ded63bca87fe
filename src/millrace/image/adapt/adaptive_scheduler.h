// Finds the best schedule during the run, keeps it, and replaces it when it is no longer the best. This is
// the loop observe, model, decide, act for filter pipelines.
#pragma once

#include "millrace/image/adapt/first_schedules.h"
#include "millrace/image/adapt/schedule_space.h"
#include "millrace/image/execute/executor.h"
#include "millrace/tuning/profile/profile.h"
#include "millrace/tuning/tuner/tuner.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

namespace millrace::image {

struct AdaptiveOptions {
  tuning::Objective objective;
  ScheduleFreedom freedom;
  std::uint64_t seed = 1;
  std::optional<tuning::Profile> profile;  // learnt by earlier runs
  std::optional<std::int64_t> frames;      // total number of frames, if known; see expect()
};

// What a run observed of its last batch of frames, apart from the time to compute them.
struct BatchFeedback {
  // Seconds that the frames waited until they were passed on. They count as latency.
  double handover = 0;
  // Seconds that the schedule has cost the run since then. They count as run time of these frames.
  double cost = 0;
  // Share of the time saved by faster frames that shortens the run, in [0, 1]. Less than 1 if the run waits
  // for input or output anyway. Empty: not known yet, so the schedule stays as it is and nothing is learnt.
  // No effect unless throughput is the aim.
  std::optional<double> bottleneck_share = 1;
};

// Drives an executor. Must be used by the thread that owns the executor.
//
// If throughput is the aim and the length of the stream is known, it begins with the profile's plan or the
// best guess whose kernels are available, and nothing else. Enumerating and judging all schedules takes some
// milliseconds. They are spent only after batches have shown that enough frames are left to gain them back.
class AdaptiveScheduler {
 public:
  // Sets the first schedule: the profile's, else the best guess. The executor and library must outlive the
  // result.
  [[nodiscard]] static Result<std::unique_ptr<AdaptiveScheduler>>
  make(Executor& executor, KernelLibrary& library, const FrameLayout& layout, AdaptiveOptions options);

  // The total number of frames, if known by now; may be wrong.
  void expect(std::optional<std::int64_t> frames);

  // Switches to the next schedule and returns how many frames it processes in parallel.
  [[nodiscard]] Result<int> prepare();

  // Runs at least one frame, preferably a multiple of prepare()'s result, see Executor::run. waited: seconds
  // since the oldest of them arrived. They count as latency only from the switch to this schedule on; before
  // that they waited for another schedule.
  [[nodiscard]] Status run(std::span<const FrameTask> frames, double waited = 0);

  // New parameter values from the next frame on, see Executor::update. `different`: the change is large
  // enough that another schedule may be the best.
  void update(const FrameLayout& layout, bool different);

  // Call this after each run(), once its frames were passed on; also before the first one, to hold the
  // schedule.
  void observe(const BatchFeedback& feedback);

  // Whether the schedule stays as it is, because the bottleneck is not known yet.
  [[nodiscard]] bool held() const { return held_; }
  // Whether the next schedule is a trial.
  [[nodiscard]] bool trying() const { return trying_; }
  // Whether a profile was used: without a search, for the plan that runs; otherwise, for the remembered
  // costs.
  [[nodiscard]] bool uses_profile() const { return opening_ ? opening_->by_profile : remembers_; }
  // Whether a search is in progress, as the next three functions require.
  [[nodiscard]] bool searches() const { return tuner_.has_value(); }
  [[nodiscard]] const tuning::Tuner& tuner() const { return *tuner_; }
  [[nodiscard]] const ScheduleSpace& space() const { return *space_; }
  [[nodiscard]] tuning::Profile profile() const;
  [[nodiscard]] const Schedule& incumbent() const { return incumbent_; }
  // Named as in tuning::Space.
  [[nodiscard]] std::string incumbent_name() const;
  // Seconds spent on decisions, without running frames and switching.
  [[nodiscard]] double overhead_seconds() const;
  // Seconds spent on switching: finding kernels, allocating memory, pinning threads.
  [[nodiscard]] double switching_seconds() const;

 private:
  // Result of one call of run().
  struct Ran {
    int frames = 0;
    std::int64_t end = 0;
    double seconds = 0;
    double latency = 0;  // in seconds
  };

  AdaptiveScheduler(Executor& executor, KernelLibrary& library, const FrameLayout& layout,
                    AdaptiveOptions options);

  [[nodiscard]] Result<bool> open();
  [[nodiscard]] Status begin_search();
  [[nodiscard]] Status begin_with_search();
  [[nodiscard]] bool pays_to_search() const;
  void search_if_it_pays();
  [[nodiscard]] Result<bool> is_built(const KernelBuild& build);
  [[nodiscard]] std::optional<std::int64_t> frames_left() const;
  void start_ready();
  void follow_builds();
  [[nodiscard]] bool drop_refused();
  void learn();
  void tell(const Ran& ran);

  Executor& executor_;
  KernelLibrary& library_;
  FrameLayout layout_;  // until a search begins
  const AdaptiveOptions options_;
  std::optional<Opening> opening_;        // until a search begins
  int warm_batches_ = 0;                  // batches run with the opening after warm-up
  double least_frame_seconds_ = 0;        // the least in those batches
  bool cannot_search_ = false;            // not enough memory for it
  bool remembers_ = false;                // the search has the profile's costs
  std::unique_ptr<ScheduleSpace> space_;  // of the search, like the tuner
  std::optional<tuning::Tuner> tuner_;
  int requested_ = -1;  // the build last requested from the library
  int requests_ = 0;
  std::optional<std::int64_t> frames_;  // in the stream
  std::int64_t done_ = 0;               // frames done
  double bottleneck_share_ = 1;
  bool held_ = false;
  bool for_throughput_ = true;
  int candidate_ = -1;  // set in the executor; -1 if it is no candidate of the search
  bool trying_ = false;
  bool warm_ = false;  // it has run a frame since the switch
  Schedule incumbent_;
  double trusted_at_ = 0;          // time of the last frame measured undisturbed
  std::int64_t switched_ns_ = 0;   // time of the last switch
  std::int64_t switching_ns_ = 0;  // since the last observation
  std::int64_t all_switching_ns_ = 0;
  bool disturbed_ = false;                        // a compilation ran during these frames
  tuning::Observation observation_{.frames = 0};  // of the frames since the switch
  std::optional<Ran> unobserved_;                 // most recent batch
  double least_observed_ = 0;                     // seconds of frames needed for an observation
  std::int64_t overhead_ns_ = 0;
};

}  // namespace millrace::image
