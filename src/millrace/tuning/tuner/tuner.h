// The online optimiser. Ask/tell: it says what to run next and is told the cost. It runs nothing, reads no
// clock and starts no thread. Equal observations and options give equal answers.
//
//   Trial trial = tuner.ask();           // before every batch of frames: cheap
//   ... run 1 to trial.frames frames by trial.candidate ...
//   tuner.tell({.candidate = ..., .time = ..., .frames = ..., .seconds = ..., .trusted = ...});
//
// Each part of the decision has its own file.
//
// Which candidate next (CostModel): a Gaussian process over the knobs estimates the log cost of every
// candidate, with its uncertainty. The next trial is the candidate with the greatest expected improvement per
// second of expected loss (Jones, Schonlau & Welch 1998; per unit of cost: Snoek, Larochelle & Adams 2012).
// Searching the knobs one by one would need too many frames and miss combinations.
//
// How long (Race): interleaved blocks A B A B against the incumbent (Maron & Moore 1994; Birattari et al.
// 2002, F-race), so that drift of the machine affects both. A challenger is dropped at the first frame that
// shows it to be worse.
//
// How much (TrialBudget): the seconds that may be lost accrue with time, quickly at the start and slowly
// later. Their total is always limited.
//
// Whether at all (TrialValue): if the caller knows how many frames are left, a trial is made only if its
// expected gain over them exceeds its expected loss. All trials together may lose a small share of the
// stream. A candidate that was compiled for a trial is tried even beyond that share, if it still pays. The
// cost of switching beyond the slower frames is learnt from the trials.
//
// When again (ChangeDetector): a two-sided CUSUM (Page 1954) of the incumbent's log cost detects changes.
// Knowledge is then made less certain, not discarded, and the initial budget is granted again, reduced after
// alarms that led to nothing. Discounting all knowledge by age, as bandits for changing rewards do (Garivier
// & Moulines 2011), would pay for changes that never come.
#pragma once

#include "millrace/base/error/result.h"
#include "millrace/tuning/estimate/change_detector.h"
#include "millrace/tuning/estimate/cost_model.h"
#include "millrace/tuning/estimate/noise_level.h"
#include "millrace/tuning/estimate/recent_costs.h"
#include "millrace/tuning/record/decision_record.h"
#include "millrace/tuning/space/objective.h"
#include "millrace/tuning/space/space.h"
#include "millrace/tuning/trial/race.h"
#include "millrace/tuning/trial/trial_budget.h"
#include "millrace/tuning/trial/trial_value.h"

#include <cstdint>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <vector>

namespace millrace::tuning {

struct RememberedCost {
  int candidate = 0;
  double ratio = 1;  // cost relative to the remembered incumbent's; above 0
};

struct Remembered {
  int incumbent = 0;
  std::vector<RememberedCost> costs;
};

struct TunerOptions {
  Objective objective;
  std::uint64_t seed = 1;  // breaks ties
  // Candidates to try before all others, best guess first. The first one that is ready becomes the first
  // incumbent. Empty: the candidate with the lowest prior cost, or number 0.
  std::vector<int> first;
  // A guess of each candidate's relative cost, above 0; empty: no guess. Observations determine how much it
  // is believed.
  std::vector<double> prior;
  // The compilation that each candidate needs. Candidates with the same number share one; negative: no
  // compilation. Empty: no candidate needs one.
  std::vector<int> build;
  // For each build, the expected seconds of its compilation. build_slowdown is the share of speed that the
  // stream loses meanwhile. Used if the remaining length of the stream is known. Empty: 0 for all.
  std::vector<double> build_seconds;
  double build_slowdown = 0.5;
  // Resources that a candidate occupies (threads), at least 1; used by the deadline objective. Empty: 1 for
  // all.
  std::vector<double> resources;
  // From a profile: used from the first frame on, verified by a few trials, forgotten if it proves wrong.
  std::optional<Remembered> remembered;
  int wanted_builds = 1;  // maximum number of requested compilations at a time
  int record_length = 256;
  BudgetOptions budget;
};

enum class Role { incumbent, challenger };

struct Trial {
  int candidate = 0;
  int frames = 1;  // maximum number to run before asking again; at least 1
  Role role = Role::incumbent;
};

// For one thread. Allocates only in make() and for the results of explain(), record() and remember().
class Tuner {
 public:
  // The space must outlive the tuner. Usage error if an option does not fit the space.
  [[nodiscard]] static Result<Tuner> make(const Space& space, TunerOptions options);

  // The candidate to run now. Asking again without tell() gives the same answer.
  [[nodiscard]] Trial ask();

  // Reports one observation, in order of time. Observations of candidates that were not asked for (stand-ins,
  // frames already in flight when the answer changed) only advance the time.
  void tell(const Observation& observation);

  // The candidates that should be compiled, most promising first; at most wanted_builds. They stay until
  // ready(), cannot_compile() or cannot_run() is called for them. Frames never wait for them. If the end of
  // the stream is known, other trials wait a while for the first one only.
  [[nodiscard]] std::span<const int> wanted_builds() const { return wanted_; }
  // Sets the number of remaining frames. nullopt, also the initial state: unknown, perhaps endless. May
  // change before every ask().
  void frames_left(std::optional<std::int64_t> frames);
  // Corrects the length of the whole stream by this number of frames, which may be negative.
  void expect_more(std::int64_t frames);

  // The share of saved time by which the stream ends earlier, in [0, 1]; initially 1. If it is close to 0,
  // nothing is tried, however many frames are left.
  void bottleneck_share(double share);

  // The candidate's build is compiled; applies to all candidates of the same build.
  void ready(int candidate);
  // The candidate cannot be compiled. It and the others of the same build are never asked for again. Must not
  // be called for the incumbent.
  void cannot_compile(int candidate);
  // These candidates are compiled but cannot run, because the machine refuses something that they share; the
  // first one is the one that failed. They are never asked for again, but others of their builds are. If the
  // incumbent is among them, another candidate replaces it. Returns false and changes nothing if no candidate
  // would be left.
  [[nodiscard]] bool cannot_run(std::span<const int> candidates);

  // The work itself changes from now on (a filter's parameter, the frame size). Makes existing knowledge
  // uncertain at once.
  void context_changed(double time);

  [[nodiscard]] int incumbent() const { return incumbent_; }
  [[nodiscard]] bool racing() const { return race_.has_value(); }
  // Seconds lost to trials so far: the extra time of challengers and switches compared with the incumbent.
  [[nodiscard]] double seconds_lost() const { return budget_.spent(); }
  // The value set last.
  [[nodiscard]] double bottleneck_share() const { return bottleneck_share_; }

  // The time of the first observation, to which reports refer.
  [[nodiscard]] double start_time() const { return start_time_; }

  // One sentence that explains why this is the incumbent, with times relative to `start`.
  [[nodiscard]] std::string explain(double start) const;
  [[nodiscard]] std::string explain() const { return explain(start_time_); }
  [[nodiscard]] const DecisionRecord& record() const { return record_; }
  // For a profile: the incumbent and the ratios of measured candidates, at most `limit`, best first.
  [[nodiscard]] Remembered remember(int limit) const;

 private:
  // Higher log ratios are all equally bad to the model.
  static constexpr double worst_level = 1.0;
  static constexpr double least_deviation = 0.01;  // of a measured level: the resolution of a race

  // Knowledge about a candidate besides the cost model's estimate.
  struct Knowledge {
    int trials = 0;
    double level = 0;  // from its last trial: log cost on the cost model's scale
    double deviation = 0;
    bool ready = true;
    bool available = true;
    std::optional<double> remembered;  // log cost from the profile, until measured
  };
  // A candidate to race next.
  struct Choice {
    int candidate = -1;
    Reason reason = Reason::improvement;
    double expected_loss = 0;  // seconds
    double improvement = 0;    // expected, in log cost
  };

  Tuner(const Space& space, TunerOptions options);

  void start();
  [[nodiscard]] int first_guess() const;
  [[nodiscard]] int better_than_remembered() const;
  [[nodiscard]] bool knows_build_of(int candidate) const;
  [[nodiscard]] double expected_by_prior(int candidate) const;
  void want_build_for_later();
  void replace_incumbent();
  void start_clock(const Observation& observation);
  void charge_switching(double seconds);
  void tell_incumbent(const Observation& observation, double log_cost);
  void tell_race(const Observation& observation, double log_cost);
  void conclude(Verdict verdict);
  void end_race(Reason verdict);
  void promote(double level, const Event& trial);
  void check_profile(int candidate, double log_ratio, double error);
  void learn_remembered();
  void doubt(double deviation, double scale);

  void consider();
  [[nodiscard]] Choice choose();
  [[nodiscard]] Choice compiled();
  [[nodiscard]] Choice queued();
  [[nodiscard]] Choice most_promising();
  [[nodiscard]] Choice rival();
  void verify_soon();
  [[nodiscard]] Choice chosen(int candidate, Reason reason) const;
  void begin_race();
  void want_build(int candidate);
  [[nodiscard]] bool awaits_build() const;

  // With a known end, see tuner_horizon.cpp.
  void open_trials(double scale);
  [[nodiscard]] TrialValue value_of(const Choice& choice) const;
  [[nodiscard]] double build_seconds(int candidate) const;
  [[nodiscard]] bool pays(const Choice& choice);
  void tell_declined();
  [[nodiscard]] std::int64_t frames_for_verification() const;
  [[nodiscard]] bool out_of_means(bool challenger) const;
  void learn_trial_loss();

  [[nodiscard]] Knowledge& of(int candidate) { return knowledge_[static_cast<std::size_t>(candidate)]; }
  [[nodiscard]] const Knowledge& of(int candidate) const {
    return knowledge_[static_cast<std::size_t>(candidate)];
  }
  [[nodiscard]] bool runnable(int candidate) const { return of(candidate).ready && of(candidate).available; }
  [[nodiscard]] bool same_build(int a, int b) const;
  [[nodiscard]] double resources(int candidate) const;

  const Space* space_;
  TunerOptions options_;
  std::vector<Knowledge> knowledge_;
  std::vector<int> wanted_;
  std::optional<double> awaited_until_;  // when the first requested build is probably ready
  int compiled_ = -1;                    // the candidate that requested the newest build, until it is tried
  CostModel model_;
  NoiseLevel noise_;
  ChangeDetector detector_;
  TrialBudget budget_;
  DecisionRecord record_;
  std::mt19937_64 random_;

  bool clock_started_ = false;
  double start_time_ = 0;
  double now_ = 0;

  int incumbent_ = -1;
  double level_ = 0;              // the incumbent's log cost on the cost model's scale
  RecentCosts recent_;            // the incumbent's last frames
  double incumbent_seconds_ = 0;  // the incumbent's typical time per frame
  bool returning_ = false;        // its next frame is the first after a challenger's
  double switching_seconds_ = 0;  // typical time of one switch
  Event crowning_;                // why it became the incumbent

  std::optional<Race> race_;
  Event trial_;  // the record of the race so far
  double race_excess_ = 0;
  double race_charged_ = 0;

  std::optional<std::int64_t> frames_left_;
  double bottleneck_share_ = 1;
  bool funded_ = false;             // the first trials of a stream with a known end were granted their budget
  bool from_profile_ = false;       // the profile's plan runs and is only verified
  double opened_scale_ = 0;         // total of all openings of trials
  double verification_frames_ = 0;  // frames that challengers may use during verification
  // Typical loss of a trial in seconds beyond its expected loss.
  double overrun_ = 0;
  // For the current or last trial: the amount spent before it, and its expected loss, negative once settled.
  double spent_before_ = 0;
  double expected_before_ = -1;
  Choice declined_;  // the best candidate of the last look that does not pay
  bool decline_told_ = false;

  Choice choice_;           // waits for credit
  double consider_at_ = 0;  // no trial was worthwhile: time of the next look
  double verify_at_ = 0;    // when a rival is checked again
  double verify_interval_ = 0;
  int verify_turn_ = 0;
  int recheck_ = -1;        // replaced on disturbed evidence
  int profile_trials_ = 0;  // left for verifying the profile
  int profile_surprises_ = 0;
  double alarm_scale_ = 1;  // factor on the budget after an alarm; lower after fruitless ones
  double last_alarm_ = 0;
};

}  // namespace millrace::tuning
