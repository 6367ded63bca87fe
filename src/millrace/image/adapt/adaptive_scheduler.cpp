#include "millrace/image/adapt/adaptive_scheduler.h"

#include "millrace/base/error/clock.h"
#include "millrace/base/error/without_exceptions.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <set>
#include <utility>

namespace millrace::image {
namespace {

// The compiler slows down all schedules alike. If it takes long, measurements taken meanwhile are better than
// none.
constexpr double longest_distrust = 0.1;  // seconds

// Shorter frames are observed in groups. A single one says more about other programs on the machine than
// about the schedule, and switching takes as long as a few frames. Not done if tail latency is the aim.
constexpr double least_observed_seconds = 5e-4;

// Time to start the compiler and compile a kernel while frames keep all CPUs busy, as observed. Without load
// it is half of that (the benchmark of kernel_library). It grows roughly with kernel_work(): without load
// 0.005 to 0.012 s per unit, for seven fused pipelines. Long windows take less, because they are loops.
constexpr double kernel_compile_seconds = 0.2;
constexpr double work_compile_seconds = 0.016;
constexpr double compiler_start_seconds = 0.1;
constexpr double compiler_share = 0.5;  // share of a CPU that the compiler uses meanwhile

constexpr int urgent_requests = 2;
constexpr int profile_length = 32;  // number of schedules whose costs are remembered

// Planes share their kernels. Kernels of single stages without a formula are built in.
double expected_compile_seconds(const KernelBuild& build) {
  std::set<std::string> kernels;
  double expected = compiler_start_seconds;
  for (std::size_t k = 0; k < build.specs.size(); ++k) {
    const KernelSpec& spec = build.specs[k];
    if (spec.stages.size() == 1 && !spec.stages[0].filter->simple().formula) continue;
    if (kernels.insert(spec.key()).second)
      expected += kernel_compile_seconds + work_compile_seconds * build.work[k];
  }
  return expected;
}

// Time to begin a search, in which candidates are listed and judged. It is limited to a share of the time
// left: almost none if a profile says what to run, otherwise part of the possible gain.
constexpr double search_start_seconds = 2e-3;
constexpr double start_share_of_profile = 0.01;
constexpr double start_share = 0.05;
constexpr int batches_to_judge_by = 4;

}  // namespace

AdaptiveScheduler::AdaptiveScheduler(Executor& executor, KernelLibrary& library, const FrameLayout& layout,
                                     AdaptiveOptions options)
    : executor_(executor), library_(library), layout_(layout), options_(std::move(options)),
      frames_(options_.frames) {
  for_throughput_ = options_.objective.aim == tuning::Aim::throughput;
  if (for_throughput_) least_observed_ = least_observed_seconds;
}

Result<std::unique_ptr<AdaptiveScheduler>> AdaptiveScheduler::make(Executor& executor, KernelLibrary& library,
                                                                   const FrameLayout& layout,
                                                                   AdaptiveOptions options) {
  std::unique_ptr<AdaptiveScheduler> result(
      new AdaptiveScheduler(executor, library, layout, std::move(options)));
  const auto opened = result->open();
  if (!opened) return std::unexpected(opened.error());
  if (!*opened)
    if (Status begun = result->begin_with_search(); !begun) return std::unexpected(begun.error());
  result->switched_ns_ = now_ns();
  result->trusted_at_ = seconds(result->switched_ns_);
  return result;
}

// Begins with the best guess and leaves the decision to search open. Returns false if a search must begin at
// once.
Result<bool> AdaptiveScheduler::open() {
  if (!for_throughput_ || !frames_) return false;
  const ScheduleRules rules(layout_, options_.freedom);
  ScheduleGuess guess(layout_, options_.freedom, options_.objective.aim);
  std::map<BuildKey, bool> built;
  const auto is_built_for = [&](const Schedule& schedule) {
    const auto key = build_key(schedule);
    if (!key) return true;
    const auto [known, is_new] = built.try_emplace(*key, false);
    if (is_new) known->second = is_built(build_for(layout_, schedule)).value_or(false);
    return known->second;
  };
  const auto opening =
      opening_of(first_schedules(rules, guess), options_.profile, rules, guess, is_built_for);
  if (!opening) return false;
  if (Status set = executor_.set(layout_, opening->schedule); !set) return std::unexpected(set.error());
  incumbent_ = opening->schedule;
  if (!executor_.refused().empty()) return false;
  opening_ = *opening;
  return true;
}

Status AdaptiveScheduler::begin_search() {
  auto space = ScheduleSpace::make(layout_, options_.freedom);
  if (!space) return std::unexpected(space.error());
  space_ = std::make_unique<ScheduleSpace>(std::move(*space));
  ScheduleGuess guess(layout_, options_.freedom, options_.objective.aim);
  tuning::TunerOptions tuner_options{.objective = options_.objective,
                                     .seed = options_.seed,
                                     .build = space_->build_of(),
                                     .resources = space_->threads()};
  for (const Schedule& schedule : first_schedules(space_->rules(), guess))
    tuner_options.first.push_back(*space_->find(schedule));
  for (int c = 0; c < space_->size(); ++c)
    tuner_options.prior.push_back(guess.cost(space_->schedule(c)));
  tuner_options.build_slowdown = compiler_share / std::max(1, options_.freedom.max_threads);
  for (const KernelBuild& build : space_->builds())
    tuner_options.build_seconds.push_back(expected_compile_seconds(build));
  if (options_.profile) tuner_options.remembered = tuning::from_profile(*options_.profile, space_->space());
  remembers_ = tuner_options.remembered.has_value();
  auto tuner = tuning::Tuner::make(space_->space(), std::move(tuner_options));
  if (!tuner) return std::unexpected(tuner.error());
  tuner_.emplace(std::move(*tuner));
  tuner_->bottleneck_share(bottleneck_share_);

  start_ready();
  incumbent_ = space_->schedule(tuner_->ask().candidate);
  return {};
}

// Searches from the first frame on.
Status AdaptiveScheduler::begin_with_search() {
  if (Status begun = begin_search(); !begun) return begun;
  do {
    candidate_ = tuner_->ask().candidate;
    incumbent_ = space_->schedule(candidate_);
    if (Status set = executor_.set(layout_, incumbent_); !set) return set;
  } while (drop_refused());
  return {};
}

// Whether the possible gain in the remaining frames is worth beginning a search.
bool AdaptiveScheduler::pays_to_search() const {
  if (held_) return false;
  const auto left = frames_left();
  if (!left) return true;
  const double share = opening_->by_profile ? start_share_of_profile : start_share;
  return share * bottleneck_share_ * static_cast<double>(*left) * least_frame_seconds_ > search_start_seconds;
}

// Does nothing once a search has begun.
void AdaptiveScheduler::search_if_it_pays() {
  if (tuner_ || !unobserved_ || cannot_search_) return;
  const std::int64_t start = now_ns();
  // The first batch warms up, and disturbances lengthen others. The shortest one shows how much time is left.
  const double seconds_each = unobserved_->seconds / unobserved_->frames;
  if (std::exchange(warm_, true))
    least_frame_seconds_ = warm_batches_++ == 0 ? seconds_each : std::min(least_frame_seconds_, seconds_each);
  if ((warm_batches_ >= batches_to_judge_by || !frames_left()) && pays_to_search()) {
    const Status begun = without_exceptions([this] { return begin_search(); });
    if (begun) {
      // Parameters may have changed since the opening, and with them the set of candidates. prepare() then
      // continues with the search's choice.
      candidate_ = space_->find(opening_->schedule).value_or(-1);
      if (candidate_ < 0) unobserved_.reset();
      opening_.reset();
      trusted_at_ = seconds(now_ns());
    } else {
      // The current schedule stays in use.
      incumbent_ = opening_->schedule;
      tuner_.reset();
      space_.reset();
      cannot_search_ = true;
    }
  }
  if (!tuner_) unobserved_.reset();
  overhead_ns_ += now_ns() - start;
}

Result<bool> AdaptiveScheduler::is_built(const KernelBuild& build) {
  bool there = true;
  for (const KernelSpec& spec : build.specs) {
    const auto found = library_.find(spec, build.isa);
    if (!found) return std::unexpected(found.error());
    there = there && *found != nullptr;
  }
  return there;
}

// Kernels that an earlier run has compiled can be used from the first frame on.
void AdaptiveScheduler::start_ready() {
  std::vector<bool> seen(space_->builds().size(), false);
  for (int c = 0; c < space_->size(); ++c) {
    const int build = space_->build_of()[c];
    if (build < 0 || seen[build]) continue;
    seen[build] = true;
    if (const auto built = is_built(space_->builds()[build]); built && *built) tuner_->ready(c);
  }
}

void AdaptiveScheduler::follow_builds() {
  // A copy, because ready() and unavailable() change the list.
  const auto wanted = tuner_->wanted_builds();
  const std::vector<int> candidates(wanted.begin(), wanted.end());
  for (int candidate : candidates) {
    const auto number = space_->build_of()[candidate];
    const KernelBuild& build = space_->builds()[number];
    const auto built = is_built(build);
    if (!built) {
      tuner_->cannot_compile(candidate);
    } else if (*built) {
      tuner_->ready(candidate);
    } else if (number != requested_) {
      // The first fused kernels gain most, and a run that keeps all cores busy would hardly ever get them.
      const Urgency urgency = requests_++ < urgent_requests ? Urgency::urgent : Urgency::background;
      for (const KernelSpec& spec : build.specs)
        library_.request(spec, build.isa, urgency);
      requested_ = number;
    }
  }
}

// If the kernel refuses an affinity, candidates with it run unpinned, like others. They are dropped, unless
// there are no others. Returns whether the tuner must be asked again.
bool AdaptiveScheduler::drop_refused() {
  const auto refused = [&](int c) { return executor_.refused().contains(space_->schedule(c).affinity); };
  const bool free_refused = executor_.refused().contains(machine::AffinityArrangement::free);
  if (free_refused || !refused(candidate_)) return false;
  std::vector<int> dropped{candidate_};
  for (int c = 0; c < space_->size(); ++c) {
    if (c != candidate_ && refused(c)) dropped.push_back(c);
  }
  return tuner_->cannot_run(dropped);
}

// Unknown if there are more frames than announced.
std::optional<std::int64_t> AdaptiveScheduler::frames_left() const {
  if (!frames_ || *frames_ < done_) return std::nullopt;
  return *frames_ - done_;
}

void AdaptiveScheduler::expect(std::optional<std::int64_t> frames) {
  if (tuner_ && frames && frames_ && *frames != *frames_) tuner_->expect_more(*frames - *frames_);
  frames_ = frames;
}

Result<int> AdaptiveScheduler::prepare() {
  search_if_it_pays();
  if (!tuner_) return executor_.in_use().frames_in_flight;
  learn();
  while (!held_ && observation_.frames == 0) {
    const std::int64_t start = now_ns();
    tuner_->frames_left(frames_left());
    if (!tuner_->wanted_builds().empty()) follow_builds();
    const tuning::Trial trial = tuner_->ask();
    trying_ = trial.role == tuning::Role::challenger;
    const std::int64_t asked = now_ns();
    overhead_ns_ += asked - start;
    if (trial.candidate == candidate_) break;
    const Schedule schedule = space_->schedule(trial.candidate);
    Status used = executor_.use(schedule);
    const std::int64_t switched = now_ns() - asked;
    switching_ns_ += switched;
    all_switching_ns_ += switched;
    if (!used) {
      if (!tuner_->cannot_run(std::array{trial.candidate})) return std::unexpected(used.error());
      continue;
    }
    candidate_ = trial.candidate;
    switched_ns_ = asked;
    if (drop_refused()) continue;
    warm_ = false;
    break;
  }
  return executor_.in_use().frames_in_flight;
}

void AdaptiveScheduler::observe(const BatchFeedback& feedback) {
  if (unobserved_) {
    unobserved_->seconds += feedback.cost;
    unobserved_->latency += feedback.handover;
  }
  if (!for_throughput_) return;
  held_ = !feedback.bottleneck_share;
  if (held_) return;
  bottleneck_share_ = *feedback.bottleneck_share;
  if (tuner_) tuner_->bottleneck_share(bottleneck_share_);
}

Status AdaptiveScheduler::run(std::span<const FrameTask> frames, double waited) {
  const std::int64_t start = now_ns();
  const double waited_before = executor_.waited_seconds();
  if (Status done = executor_.run(frames); !done) return done;
  const std::int64_t end = now_ns();
  // Excludes time during which other streams had the workers.
  const double spent = seconds(end - start) - (executor_.waited_seconds() - waited_before);
  done_ += std::ssize(frames);
  // A stand-in, an interim kernel or the last few frames of a stream say nothing about the candidate.
  if (!executor_.stand_in() && !executor_.interim() &&
      static_cast<int>(frames.size()) % executor_.in_use().frames_in_flight == 0)
    unobserved_ = {static_cast<int>(frames.size()), end, spent,
                   seconds(end - std::max(start - nanoseconds(waited), switched_ns_))};
  return {};
}

// Called only at the next batch, when all costs of the last one are known.
void AdaptiveScheduler::learn() {
  if (!unobserved_ || !tuner_) return;
  const Ran ran = *std::exchange(unobserved_, std::nullopt);
  if (held_) return;
  const std::int64_t start = now_ns();
  tell(ran);
  overhead_ns_ += now_ns() - start;
}

void AdaptiveScheduler::tell(const Ran& ran) {
  disturbed_ = library_.compiling() || (observation_.frames > 0 && disturbed_);
  observation_.frames += ran.frames;
  observation_.seconds += ran.seconds;
  observation_.latency = std::max(observation_.latency, ran.latency);
  // The first frame after a switch warms the caches and is observed separately.
  if (warm_ && observation_.seconds < least_observed_) return;
  observation_.trusted = warm_ && (!disturbed_ || seconds(ran.end) - trusted_at_ > longest_distrust);
  if (observation_.trusted) trusted_at_ = seconds(ran.end);
  warm_ = true;
  observation_.candidate = candidate_;
  observation_.time = seconds(ran.end);
  observation_.switching = seconds(std::exchange(switching_ns_, 0));
  tuner_->tell(std::exchange(observation_, {.frames = 0}));
  if (tuner_->incumbent() != candidate_ || !(incumbent_ == executor_.in_use()))
    incumbent_ = space_->schedule(tuner_->incumbent());
}

void AdaptiveScheduler::update(const FrameLayout& layout, bool different) {
  learn();
  if (!tuner_) layout_ = layout;
  executor_.update(layout);
  if (!different) return;
  observation_ = {.frames = 0};
  unobserved_.reset();
  warm_batches_ = 0;
  if (tuner_) tuner_->context_changed(seconds(now_ns()));
}

std::string AdaptiveScheduler::incumbent_name() const {
  const ScheduleKnobs knobs = ScheduleKnobs::of(options_.freedom);
  const auto numbers = knobs.numbers_of(incumbent_);
  return numbers ? tuning::name_of(knobs.named(), *numbers) : to_string(incumbent_);
}

tuning::Profile AdaptiveScheduler::profile() const {
  return tuning::to_profile(tuner_->remember(profile_length), space_->space());
}

double AdaptiveScheduler::overhead_seconds() const { return seconds(overhead_ns_); }

double AdaptiveScheduler::switching_seconds() const { return seconds(all_switching_ns_); }

}  // namespace millrace::image
