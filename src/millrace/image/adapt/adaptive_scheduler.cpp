#include "millrace/image/adapt/adaptive_scheduler.h"

#include "millrace/base/clock.h"
#include "millrace/image/layout/default_schedule.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

namespace millrace::image {
namespace {

// The compiler takes time from the frames, from those of all schedules alike. Where it takes long, frames
// measured beside it are better than none.
constexpr double longest_distrust = 0.1;  // seconds

// Shorter frames are observed several at a time: one alone tells more about the neighbours on the machine
// than about the schedule, and switching takes as long as a few of them. Not where tails are what counts.
constexpr double least_observed_seconds = 5e-4;

// What the compiler was seen to take for a kernel, and to start, beside frames that keep all CPUs busy; alone
// it takes half of that (the benchmark of kernel_library).
constexpr double kernel_compile_seconds = 0.25;
constexpr double compiler_start_seconds = 0.1;
constexpr double compiler_share = 0.5;  // of a CPU that it has meanwhile

constexpr int urgent_requests = 2;
constexpr int profile_length = 32;  // schedules whose costs are remembered

// Planes share their kernels, and those of single stages are built in where they have no formula.
double expected_compile_seconds(const KernelBuild& build) {
  std::set<std::string> kernels;
  for (const KernelSpec& spec : build.specs) {
    if (spec.stages.size() > 1 || spec.stages[0].filter->formula) kernels.insert(spec.key());
  }
  return compiler_start_seconds + kernel_compile_seconds * static_cast<double>(kernels.size());
}

// Of each structure the setting that most often was its best, so that none is overlooked because of its tile.
std::vector<int> first_candidates(const ScheduleSpace& space, const ScheduleFreedom& freedom,
                                  tuning::Aim aim) {
  const int threads = freedom.threads.value_or(freedom.max_threads);
  const int in_flight = space.first_in_flight(threads, aim);
  const machine::Isa isa = freedom.isas.front();
  std::vector<int> first;
  const auto add = [&](Structure structure, Fusion fusion, Size tile, int frames_in_flight) {
    const auto found = space.find({.structure = structure,
                                   .fusion = fusion,
                                   .tile = tile,
                                   .threads = threads,
                                   .frames_in_flight = frames_in_flight,
                                   .affinity = freedom.affinities.front().arrangement,
                                   .isa = isa});
    if (found && std::ranges::find(first, *found) == first.end()) first.push_back(*found);
  };
  // One kernel that reads and writes each pixel once has nothing to keep in a cache, and tiles only cost
  // calls.
  constexpr std::array tiles{Size{256, 64}, Size{128, 128}};
  const Size single = space.least_work(Fusion::none, tiles);
  const Size fused = space.least_work(freedom.fusion.value_or(Fusion::pointwise), tiles);
  if (space.shares_unfused()) add(Structure::tiled, Fusion::none, single, in_flight);
  if (space.pointwise()) add(Structure::sequential, Fusion::pointwise, {0, 0}, in_flight);
  // Sliding windows compute nothing twice, but have to keep many rows where something gathers.
  if (!space.gathers()) add(Structure::sliding, Fusion::pointwise, {0, 32}, in_flight);
  add(Structure::tiled, Fusion::pointwise, fused, in_flight);
  // A short stream has time for the first two or three of these only.
  add(Structure::sequential, Fusion::pointwise, {0, 0}, in_flight);
  add(Structure::sliding, Fusion::pointwise, {0, 32}, in_flight);
  add(Structure::tiled, Fusion::pointwise, {0, 64}, in_flight);
  add(Structure::backward_cached, Fusion::pointwise, {256, 64}, in_flight);
  for (const Size& tile : tiles)
    add(Structure::tiled, Fusion::pointwise, tile, in_flight);
  add(Structure::backward, Fusion::all, {0, 0}, in_flight);
  add(Structure::backward, Fusion::all, {256, 16}, in_flight);
  if (!freedom.frames_in_flight)
    add(Structure::tiled, Fusion::pointwise, fused, in_flight == 1 ? threads : 1);
  // Where nothing is compiled yet it is the first that can run.
  add(Structure::tiled, Fusion::none, single, in_flight);
  return first;
}

}  // namespace

AdaptiveScheduler::AdaptiveScheduler(Executor& executor, KernelLibrary& library)
    : executor_(executor), library_(library) {}

Result<std::unique_ptr<AdaptiveScheduler>> AdaptiveScheduler::make(Executor& executor, KernelLibrary& library,
                                                                   const FrameLayout& layout,
                                                                   AdaptiveOptions options) {
  auto space = ScheduleSpace::make(layout, options.freedom);
  if (!space) return std::unexpected(space.error());
  std::unique_ptr<AdaptiveScheduler> result(new AdaptiveScheduler(executor, library));
  result->space_ = std::make_unique<ScheduleSpace>(std::move(*space));
  const ScheduleSpace& all = *result->space_;

  tuning::TunerOptions tuner_options{.objective = options.objective,
                                     .seed = options.seed,
                                     .first = first_candidates(all, options.freedom, options.objective.aim),
                                     .prior = all.prior(options.objective.aim),
                                     .build = all.build_of(),
                                     .resources = all.threads()};
  result->frames_ = options.frames;
  tuner_options.build_slowdown = compiler_share / std::max(1, options.freedom.max_threads);
  for (const KernelBuild& build : all.builds())
    tuner_options.build_seconds.push_back(expected_compile_seconds(build));
  if (options.profile) tuner_options.remembered = tuning::from_profile(*options.profile, all.space());
  auto tuner = tuning::Tuner::make(all.space(), std::move(tuner_options));
  if (!tuner) return std::unexpected(tuner.error());
  result->tuner_.emplace(std::move(*tuner));

  result->start_ready();
  do {
    result->candidate_ = result->tuner_->ask().candidate;
    result->incumbent_ = all.schedule(result->candidate_);
    if (Status set = executor.set(layout, result->incumbent_); !set) return std::unexpected(set.error());
  } while (result->drop_refused());
  result->switched_ns_ = now_ns();
  result->trusted_at_ = seconds(result->switched_ns_);
  result->for_throughput_ = options.objective.aim == tuning::Aim::throughput;
  if (result->for_throughput_) result->least_observed_ = least_observed_seconds;
  return result;
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

// What an earlier run left compiled can be used from the first frame on.
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
  // A copy: ready() and unavailable() change the list.
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
      // The first fused kernels gain most, and a run whose cores are all busy would hardly ever get them.
      const Urgency urgency = requests_++ < urgent_requests ? Urgency::urgent : Urgency::background;
      for (const KernelSpec& spec : build.specs)
        library_.request(spec, build.isa, urgency);
      requested_ = number;
    }
  }
}

// Candidates under an affinity that the kernel refuses run as others do, unbound; where there are no others,
// they go on under their own names. Whether the tuner has to be asked again.
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

// Nothing is known where there are more frames than was said.
std::optional<std::int64_t> AdaptiveScheduler::frames_left() const {
  if (!frames_ || *frames_ < done_) return std::nullopt;
  return *frames_ - done_;
}

Result<int> AdaptiveScheduler::prepare() {
  observe();
  while (observation_.frames == 0) {
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

void AdaptiveScheduler::bound_share(double share) {
  if (for_throughput_) tuner_->bound_share(share);
}

Status AdaptiveScheduler::run(std::span<const FrameTask> frames, double waited) {
  const std::int64_t start = now_ns();
  const double waited_before = executor_.waited_seconds();
  if (Status done = executor_.run(frames); !done) return done;
  const std::int64_t end = now_ns();
  // What others had the workers for says nothing of the schedule.
  const double spent = seconds(end - start) - (executor_.waited_seconds() - waited_before);
  done_ += std::ssize(frames);
  // A stand-in, what runs until a kernel is compiled, or the last few frames of a stream, tell nothing about
  // the candidate.
  if (!executor_.stand_in() && !executor_.interim() &&
      static_cast<int>(frames.size()) % executor_.in_use().frames_in_flight == 0)
    unobserved_ = {static_cast<int>(frames.size()), end, spent,
                   seconds(end - std::max(start - nanoseconds(waited), switched_ns_))};
  return {};
}

// Not before the next turn, when it is known what else the last one has cost.
void AdaptiveScheduler::observe() {
  if (!unobserved_) return;
  const std::int64_t start = now_ns();
  tell(*std::exchange(unobserved_, std::nullopt));
  overhead_ns_ += now_ns() - start;
}

void AdaptiveScheduler::tell(const Ran& ran) {
  disturbed_ = library_.compiling() || (observation_.frames > 0 && disturbed_);
  observation_.frames += ran.frames;
  observation_.seconds += ran.seconds;
  observation_.latency = std::max(observation_.latency, ran.latency);
  // The first frame after a switch, which warms the caches, stands for itself.
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
  observe();
  executor_.update(layout);
  observation_ = {.frames = 0};
  if (different) tuner_->context_changed(seconds(now_ns()));
}

tuning::Profile AdaptiveScheduler::profile() const {
  return tuning::to_profile(tuner_->remember(profile_length), space_->space());
}

double AdaptiveScheduler::overhead_seconds() const { return seconds(overhead_ns_); }

double AdaptiveScheduler::switching_seconds() const { return seconds(all_switching_ns_); }

}  // namespace millrace::image
