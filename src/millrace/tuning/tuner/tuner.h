// The online optimiser. Ask/tell: it says what to run next and is told what that cost; it runs nothing, reads
// no clock, starts no thread. The same observations and options give the same answers.
//
//   Trial trial = tuner.ask();           // before every batch of frames: cheap
//   ... run 1 to trial.frames frames by trial.candidate ...
//   tuner.tell({.candidate = ..., .time = ..., .frames = ..., .seconds = ..., .trusted = ...});
//
// How it decides, a part at a time; each part has its file.
//
// Which candidate next (CostModel): a Gaussian process over the knobs, of log cost, gives an estimate and its
// uncertainty for every candidate. What is tried is what promises the greatest expected improvement for each
// second that it is expected to lose (Jones, Schonlau & Welch 1998; per unit of cost: Snoek, Larochelle &
// Adams 2012). A search of the knobs one by one needs too many frames, and misses combinations. Of what is
// expected, that share is believed which trials have kept of it so far (TrialTrust).
//
// How long (Race): interleaved blocks A B A B against the incumbent (Maron & Moore 1994; Birattari et al.
// 2002, F-race), so that a machine that drifts does so for both. A challenger is dropped in the first frame
// that shows it to be worse.
//
// How much (TrialBudget): the seconds that may be lost accrue with time, many at the beginning, few later,
// and all of them together are limited whatever happens.
//
// Whether at all (TrialValue): where the caller knows how many frames are left, a trial is made only where
// what it is expected to gain over them exceeds what it is expected to lose, and all of them together may
// lose a small share of the stream; one that something was compiled for is made in any case, if it still
// pays. What switching costs beyond the slower frames is learnt from the trials.
//
// When again (ChangeDetector): a two-sided CUSUM (Page 1954) of the incumbent's own log cost finds changes.
// The knowledge is then widened, not thrown away, and the budget of the beginning is granted anew, less of it
// after alarms that led to nothing. Discounting all knowledge by age, as bandits for changing rewards do
// (Garivier & Moulines 2011), pays for changes that never come.
#pragma once

#include "millrace/base/result.h"
#include "millrace/tuning/estimate/change_detector.h"
#include "millrace/tuning/estimate/cost_model.h"
#include "millrace/tuning/estimate/noise_level.h"
#include "millrace/tuning/estimate/recent_costs.h"
#include "millrace/tuning/record/decision_record.h"
#include "millrace/tuning/space/objective.h"
#include "millrace/tuning/space/space.h"
#include "millrace/tuning/trial/race.h"
#include "millrace/tuning/trial/trial_budget.h"
#include "millrace/tuning/trial/trial_trust.h"
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
  double ratio = 1;  // its cost relative to the remembered incumbent's; more than 0
};

struct Remembered {
  int incumbent = 0;
  std::vector<RememberedCost> costs;
};

struct TunerOptions {
  Objective objective;
  std::uint64_t seed = 1;  // breaks ties
  // Candidates worth trying before all others, the best guess in front; the first one that is ready is the
  // first incumbent. Empty: the candidate of the least prior cost, or number 0.
  std::vector<int> first;
  // A guess of each candidate's cost relative to the others, more than 0; empty: none. Believed as far as
  // observations bear it out.
  std::vector<double> prior;
  // What must be compiled before a candidate can run: those with the same number share one compilation; below
  // 0: nothing. Empty: nothing for all.
  std::vector<int> build;
  // For each build, the seconds that its compilation is expected to take, and the share of its speed that the
  // stream loses meanwhile. Used where it is known how much of the stream is left. Empty: 0 for all.
  std::vector<double> build_seconds;
  double build_slowdown = 0.5;
  // What a candidate occupies (threads), at least 1; used by the deadline objective. Empty: 1 for all.
  std::vector<double> resources;
  // From a profile: used from the first frame on, verified by a few trials, forgotten when it proves wrong.
  std::optional<Remembered> remembered;
  int wanted_builds = 1;  // at most so many compilations are wished for at a time
  int record_length = 256;
  BudgetOptions budget;
};

enum class Role { incumbent, challenger };

struct Trial {
  int candidate = 0;
  int frames = 1;  // run at most so many before asking again; at least 1
  Role role = Role::incumbent;
};

// Used by one thread. Allocates in make() only, and for what explain(), record() and remember() return.
class Tuner {
 public:
  // The space must outlive the tuner. Usage error where an option does not fit the space.
  [[nodiscard]] static Result<Tuner> make(const Space& space, TunerOptions options);

  // What to run now. Asking again without telling gives the same answer.
  [[nodiscard]] Trial ask();

  // One observation, in the order of time. Those of candidates that were not asked for (stand-ins, frames
  // already in flight when the answer changed) advance the time and are not used otherwise.
  void tell(const Observation& observation);

  // The candidates whose compilation is wished for, the most promising in front; at most wanted_builds. They
  // stay until ready(), cannot_compile() or cannot_run() is called for them; frames never wait for them, and
  // other trials for the first one only, for a while, where the end of the stream is known.
  [[nodiscard]] std::span<const int> wanted_builds() const { return wanted_; }
  // How many frames are to come; nullopt (and before the first call): not known, perhaps without end. The
  // answer may be another before every ask().
  void frames_left(std::optional<std::int64_t> frames);
  // Of those the whole stream has so many more than was said before, or fewer.
  void expect_more(std::int64_t frames);

  // What share of the time that a faster candidate saves the stream is done earlier by, in [0, 1]; 1 before
  // the first call. Where that is next to nothing nothing is tried, however much is left.
  void bound_share(double share);

  // What the candidate needs has been compiled; holds for all candidates of the same build.
  void ready(int candidate);
  // What it needs cannot be compiled: neither it nor the others of the same build are asked for again. Not
  // for the incumbent.
  void cannot_compile(int candidate);
  // They are compiled but cannot run here and now, as the machine refuses something that they share, seen
  // with the first of them: none of them is asked for again; others of their builds are. Where the incumbent
  // is among them, another candidate takes its place. False, and nothing changes, where no candidate would be
  // left.
  [[nodiscard]] bool cannot_run(std::span<const int> candidates);

  // The work itself changes from now on (a filter's parameter, the frame size): what is known is doubted at
  // once.
  void context_changed(double time);

  [[nodiscard]] int incumbent() const { return incumbent_; }
  [[nodiscard]] bool racing() const { return race_.has_value(); }
  // Seconds lost so far to trials: what challengers and switches took more than the incumbent would have.
  [[nodiscard]] double seconds_lost() const { return budget_.spent(); }
  // As told last.
  [[nodiscard]] double bound_share() const { return bound_share_; }

  // The time of the first observation, to which reports refer.
  [[nodiscard]] double start_time() const { return start_time_; }

  // Why the incumbent is the incumbent, in one sentence.
  [[nodiscard]] std::string explain() const;
  [[nodiscard]] const DecisionRecord& record() const { return record_; }
  // For a profile: the incumbent and the measured candidates' ratios, at most `limit`, the best in front.
  [[nodiscard]] Remembered remember(int limit) const;

 private:
  // Log ratios beyond this are bad; how bad is of no interest to the model.
  static constexpr double worst_level = 1.0;
  static constexpr double least_deviation = 0.01;  // of a measured level: what a race cannot see

  // What is known of a candidate besides the cost model's estimate.
  struct Knowledge {
    int trials = 0;
    double level = 0;  // measured in its last trial: log cost on the cost model's scale
    double deviation = 0;
    bool ready = true;
    bool available = true;
    std::optional<double> remembered;  // log cost of the profile, until measured
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
  std::optional<double> awaited_until_;  // the first one that was wished for is likely to be there
  int compiled_ = -1;                    // for whose sake the newest one was made, until it is tried
  CostModel model_;
  NoiseLevel noise_;
  ChangeDetector detector_;
  TrialBudget budget_;
  TrialTrust trust_;
  DecisionRecord record_;
  std::mt19937_64 random_;

  bool clock_started_ = false;
  double start_time_ = 0;
  double now_ = 0;

  int incumbent_ = -1;
  double level_ = 0;              // the incumbent's log cost on the cost model's scale
  RecentCosts recent_;            // its last frames
  double incumbent_seconds_ = 0;  // its typical time for a frame
  bool returning_ = false;        // its next frame is the first after a challenger's
  double switching_seconds_ = 0;  // typical, of one switch
  Event crowning_;                // why it is the incumbent

  std::optional<Race> race_;
  Event trial_;  // of the race, as far as known
  double race_excess_ = 0;
  double race_charged_ = 0;

  std::optional<std::int64_t> frames_left_;
  double bound_share_ = 1;
  bool funded_ = false;             // the first trials of a stream whose end is known
  bool from_profile_ = false;       // what the profile says runs, and is only verified
  double opened_scale_ = 0;         // of all times that trials were opened
  double verification_frames_ = 0;  // that may be given to others meanwhile
  // Seconds that a trial typically loses beyond what is expected of its frames.
  double overrun_ = 0;
  // Of the trial that goes on, or was the last: what had been spent before it, and what it was expected to
  // lose, below 0 where that is settled.
  double spent_before_ = 0;
  double expected_before_ = -1;
  Choice declined_;  // the best of what does not pay, of the last look
  bool decline_told_ = false;

  Choice choice_;           // waits for credit
  double consider_at_ = 0;  // nothing was worth a trial: look again then
  double verify_at_ = 0;    // a rival's turn
  double verify_interval_ = 0;
  int verify_turn_ = 0;
  int recheck_ = -1;        // was replaced on disturbed evidence
  int profile_trials_ = 0;  // left for verifying the profile
  int profile_surprises_ = 0;
  double alarm_scale_ = 1;  // of the budget granted for an alarm: less after fruitless ones
  double last_alarm_ = 0;
};

}  // namespace millrace::tuning
