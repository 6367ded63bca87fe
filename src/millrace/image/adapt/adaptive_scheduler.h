// Finds the best schedule while the frames flow, keeps it, and changes it when it stops being the best: the
// loop of observing, modelling, deciding and acting for filter pipelines.
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
  std::optional<tuning::Profile> profile;  // what earlier runs learnt
  std::optional<std::int64_t> frames;      // that there will be, where that is known; see expect()
};

// Drives an executor. Used by the thread that owns the executor.
//
// Where throughput counts and the length of the stream is known it begins with the profile's plan, or the
// best guess, of which the kernels are there, and nothing else: listing and judging all that there is takes
// some milliseconds, which are spent once turns have shown that enough is left to gain them back.
class AdaptiveScheduler {
 public:
  // Sets the first schedule: the profile's, else the best guess. Executor and library must outlive the
  // result.
  [[nodiscard]] static Result<std::unique_ptr<AdaptiveScheduler>>
  make(Executor& executor, KernelLibrary& library, const FrameLayout& layout, AdaptiveOptions options);

  // How many frames there will be from the first to the last, where that is known by now; may be wrong.
  void expect(std::optional<std::int64_t> frames);

  // While true what runs stays as it is and nothing is learnt of it: nobody can tell yet what faster frames
  // would be worth. By itself false. Of no effect unless throughput is what counts.
  void hold(bool held) { held_ = held && for_throughput_; }
  [[nodiscard]] bool held() const { return held_; }

  // Puts in place what is to run next and returns how many frames it takes side by side.
  [[nodiscard]] Result<int> prepare();

  // Runs frames, at least one and best whole rounds of prepare(), see Executor::run. waited: seconds since
  // the oldest of them came in, which count as latency from when the schedule was switched to: what came
  // before that has waited for another one.
  [[nodiscard]] Status run(std::span<const FrameTask> frames, double waited = 0);

  // Other values of parameters from the next frame on, see Executor::update. `different`: so different that
  // another schedule may be the best now.
  void update(const FrameLayout& layout, bool different);

  // Seconds that the stream has lost since the last run() by the schedule that its frames ran by: they count
  // as if these had taken longer.
  void charge(double seconds) {
    if (unobserved_) unobserved_->seconds += seconds;
  }

  // Seconds that the frames of the last run() waited behind it until they were handed on: they count as
  // latency.
  void delay(double seconds) {
    if (unobserved_) unobserved_->latency += seconds;
  }

  // What share of the time that faster frames save is gained, in [0, 1]: less than 1 where the run waits for
  // its input or output anyway. By itself 1. Of no effect unless throughput is what counts.
  void bound_share(double share);
  [[nodiscard]] double bound_share() const { return bound_share_; }

  // Whether what runs next is tried out.
  [[nodiscard]] bool trying() const { return trying_; }
  // Whether a profile was of use: where nothing is searched its plan, which runs; else what it remembers.
  [[nodiscard]] bool uses_profile() const { return opening_ ? opening_->by_profile : remembers_; }
  // Whether there is a search: what the next three are for.
  [[nodiscard]] bool searches() const { return tuner_.has_value(); }
  [[nodiscard]] const tuning::Tuner& tuner() const { return *tuner_; }
  [[nodiscard]] const ScheduleSpace& space() const { return *space_; }
  [[nodiscard]] tuning::Profile profile() const;
  [[nodiscard]] const Schedule& incumbent() const { return incumbent_; }
  // As tuning::Space names it.
  [[nodiscard]] std::string incumbent_name() const;
  // Seconds spent on deciding, apart from running frames and switching.
  [[nodiscard]] double overhead_seconds() const;
  // Seconds spent on switching: kernels found, memory made, threads bound.
  [[nodiscard]] double switching_seconds() const;

 private:
  // Of one call of run().
  struct Ran {
    int frames = 0;
    std::int64_t end = 0;
    double seconds = 0;
    double latency = 0;  // seconds
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
  void observe();
  void tell(const Ran& ran);

  Executor& executor_;
  KernelLibrary& library_;
  FrameLayout layout_;  // until there is a search
  const AdaptiveOptions options_;
  std::optional<Opening> opening_;        // until there is a search
  int warm_turns_ = 0;                    // by the opening
  double least_frame_seconds_ = 0;        // in them
  bool cannot_search_ = false;            // as there was no memory for it
  bool remembers_ = false;                // the search, what a profile says
  std::unique_ptr<ScheduleSpace> space_;  // of the search, as the tuner
  std::optional<tuning::Tuner> tuner_;
  int requested_ = -1;  // the build that was last asked of the library
  int requests_ = 0;
  std::optional<std::int64_t> frames_;  // of the stream
  std::int64_t done_ = 0;               // of them
  double bound_share_ = 1;
  bool held_ = false;
  bool for_throughput_ = true;
  int candidate_ = -1;  // that the executor is set to; -1 where the search has no such one
  bool trying_ = false;
  bool warm_ = false;  // it has run a frame since it was switched to
  Schedule incumbent_;
  double trusted_at_ = 0;          // when a frame last was worth trusting
  std::int64_t switched_ns_ = 0;   // when
  std::int64_t switching_ns_ = 0;  // since the last observation
  std::int64_t all_switching_ns_ = 0;
  bool disturbed_ = false;                        // something was compiled during them
  tuning::Observation observation_{.frames = 0};  // of the frames since then
  std::optional<Ran> unobserved_;                 // what ran last
  double least_observed_ = 0;                     // seconds of frames that make an observation
  std::int64_t overhead_ns_ = 0;
};

}  // namespace millrace::image
