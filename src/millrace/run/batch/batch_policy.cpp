#include "millrace/run/batch/batch_policy.h"

#include "millrace/run/video/codec_threads.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

namespace millrace::run {
namespace {

// Assumed relative speeds before any measurement.
constexpr double beside_same = 0.97;
constexpr double beside_other = 1.03;
constexpr double prior_seconds = 1;     // weight of the assumption
constexpr double most_remembered = 20;  // seconds; older measurements fade

// Larger frames keep more threads busy, and fewer of them fit into the caches.
constexpr double pixels_a_thread = 500'000;
constexpr double most_threads_guessed = 8;

constexpr double idle_below = 0.9;       // share of the CPUs; below it there is room for another job
constexpr double settled_seconds = 0.5;  // time after jobs began or ended before the load is meaningful
constexpr double trusted_seconds = 2;    // seconds of slices before they are compared
constexpr double worth = 0.05;           // smaller differences are ignored, because contents differ
constexpr double trial_horizon = 40;     // seconds that must be left for trying fewer jobs
constexpr int trial_every = 4;           // begun jobs
constexpr int fewest_for_trials = 12;    // jobs left
constexpr double alike = 0.01;           // difference below which two companions count as equal
// A job with this share of the remaining work must begin now, or it would end last.
constexpr double longest_share = 0.7;

std::size_t index(Bottleneck bound) { return static_cast<std::size_t>(bound); }

double mean_pixels(const BatchView& view) {
  double sum = 0;
  int known = 0;
  for (const RunningJob& job : view.running) {
    if (job.frame_pixels <= 0) continue;
    sum += job.frame_pixels;
    ++known;
  }
  return known > 0 ? sum / known : 0;
}

// Assumed relative cost of a pixel for kinds that have not run yet.
double guessed_cost(Bottleneck bound) {
  switch (bound) {
  case Bottleneck::output:
    return 8;
  case Bottleneck::input:
    return 3;
  case Bottleneck::processing:
  case Bottleneck::none:
    break;
  }
  return 1;
}

int jobs_in(const BatchView& view) {
  std::int64_t sum = std::ssize(view.running);
  for (const WaitingKind& kind : view.waiting)
    sum += kind.jobs;
  return static_cast<int>(std::min<std::int64_t>(sum, 1 << 20));
}

}  // namespace

std::string_view name_of(Bottleneck bound) {
  switch (bound) {
  case Bottleneck::input:
    return "decoding";
  case Bottleneck::processing:
    return "filters";
  case Bottleneck::output:
    return "encoding";
  case Bottleneck::none:
    break;
  }
  return "nothing in particular";
}

void BatchPolicy::Mean::add(double sample, double duration) {
  seconds = std::min(seconds, most_remembered);
  value = (value * seconds + sample * duration) / (seconds + duration);
  seconds += duration;
}

BatchPolicy::BatchPolicy(int threads, std::optional<int> side_by_side)
    : threads_(std::max(1, threads)), fixed_(side_by_side) {
  for (std::size_t a = 0; a < bottlenecks; ++a) {
    for (std::size_t b = 0; b < bottlenecks; ++b)
      beside_[a][b].add(a == b ? beside_same : beside_other, prior_seconds);
  }
}

void BatchPolicy::observe(const BatchSlice& slice) {
  if (!(slice.pixels > 0) || !(slice.seconds > 0) || !(slice.side_by_side >= 1)) return;
  const double machine_seconds = slice.seconds / slice.side_by_side / slice.pixels;
  // Small frames take longer per pixel.
  const int size = slice.frame_pixels > 1 ? static_cast<int>(std::log2(slice.frame_pixels)) : 0;
  const auto [first, new_here] = first_.try_emplace({slice.kind, size}, machine_seconds);
  if (new_here) {
    for (Costs* costs : {&costs_[slice.kind], &all_costs_}) {
      costs->sum += machine_seconds;
      ++costs->sizes;
    }
  }
  const double speed = first->second / machine_seconds;
  const double jobs = std::round(slice.side_by_side);
  if (std::abs(slice.side_by_side - jobs) < 0.2) speeds_[static_cast<int>(jobs)].add(speed, slice.seconds);
  for (std::size_t b = 0; b < bottlenecks; ++b) {
    if (slice.beside[b] > 0)
      beside_[index(slice.bound)][b].add(speed, slice.seconds * std::min(1.0, slice.beside[b]));
  }
}

double BatchPolicy::speed_of(int side_by_side) const {
  const auto found = speeds_.find(side_by_side);
  return found == speeds_.end() || found->second.seconds < trusted_seconds ? 0 : found->second.value;
}

double BatchPolicy::speed_beside(Bottleneck a, Bottleneck b) const {
  return beside_[index(a)][index(b)].value;
}

// For small frames, one job per thread. For large frames, fewer jobs with more threads each, because they
// share caches and memory; but at least two, so that one works while the other begins or ends.
int BatchPolicy::guess(const BatchView& view) const {
  const double pixels = mean_pixels(view);
  const int least = std::min(2, threads_);
  if (pixels <= 0) return least;  // the first jobs will tell
  const double each = std::clamp(std::round(pixels / pixels_a_thread), 1.0, most_threads_guessed);
  return std::max(least, static_cast<int>(threads_ / each));
}

// Adjusts the number of concurrent jobs to the measurements and returns the reason.
std::string BatchPolicy::revise(const BatchView& view) {
  const int before = target_;
  if (from_guess_) target_ = guess(view);
  const int jobs = static_cast<int>(std::ssize(view.running));
  if (jobs != target_ || view.waiting.empty() || view.seconds_unchanged < settled_seconds)
    return from_guess_ && before != target_ && mean_pixels(view) > 0
               ? fmt::format("{} side by side for frames of {:.1f} million pixels and {} threads", target_,
                             mean_pixels(view) * 1e-6, threads_)
               : "";
  const double now = speed_of(target_);
  const int least = std::min(2, threads_);
  const auto become = [&](int target) {
    from_guess_ = false;
    return std::exchange(target_, target);
  };
  for (const int other : {nearest_tried(-1), nearest_tried(1)}) {
    if (other < least || now == 0 || speed_of(other) <= now * (1 + worth)) continue;
    const int was = become(other);
    return fmt::format("{} side by side: {} were slower ({:.2f} for {:.2f})", target_, was, now,
                       speed_of(target_));
  }
  // Every step must have gained before the next one. A number that was not better is not tried again.
  const int below = nearest_tried(-1);
  const bool gained = now > 0 && (below == 0 || now > speed_of(below) * (1 + worth));
  if (gained && nearest_tried(1) == 0 && view.busy && *view.busy < idle_below && target_ < 2 * threads_ + 1) {
    const double filled = target_ / std::max(*view.busy, 0.5);
    const int step = std::max(1, static_cast<int>(std::ceil((filled - target_) / 2)));
    const int was = become(std::min(target_ + step, 2 * threads_ + 1));
    return fmt::format("{} side by side: with {} only {:.0f} % of the CPUs were busy", target_, was,
                       100 * *view.busy);
  }
  if (now > 0 && target_ > least && view.seconds_left > trial_horizon && nearest_tried(-1) == 0 &&
      mean_pixels(view) > pixels_a_thread) {
    become(target_ - 1);
    return fmt::format("{} side by side, to see whether large frames go faster so", target_);
  }
  return "";
}

// The nearest number of jobs tried below or above the current one; 0: none.
int BatchPolicy::nearest_tried(int direction) const {
  int nearest = 0;
  for (const auto& [jobs, mean] : speeds_) {
    const bool beyond = direction < 0 ? jobs < target_ : jobs > target_;
    if (beyond && speed_of(jobs) > 0 && (nearest == 0 || direction < 0)) nearest = jobs;
  }
  return nearest;
}

double BatchPolicy::seconds_of(const WaitingKind& kind, double pixels) const {
  if (const auto own = costs_.find(kind.kind); own != costs_.end())
    return pixels * own->second.sum / own->second.sizes;
  return pixels * (all_costs_.sizes > 0 ? all_costs_.sum / all_costs_.sizes : guessed_cost(kind.bound));
}

std::array<double, bottlenecks> BatchPolicy::companies(const std::vector<RunningJob>& running) const {
  std::array<double, bottlenecks> means{};
  for (int b = 0; b < bottlenecks; ++b) {
    const auto bound = static_cast<Bottleneck>(b);
    double sum = 0;
    for (const RunningJob& job : running)
      sum += (speed_beside(bound, job.bound) + speed_beside(job.bound, bound)) / 2;
    means[index(bound)] = running.empty() ? 1 : sum / static_cast<double>(running.size());
  }
  return means;
}

// Occasionally, if much work is left, tries a combination not yet measured, because assumptions can be wrong.
const WaitingKind* BatchPolicy::try_company(const BatchView& view,
                                            const std::function<bool(const WaitingKind&)>& fits) const {
  if (view.running.empty() || begun_beside_ % trial_every != trial_every - 1 ||
      jobs_in(view) < fewest_for_trials)
    return nullptr;
  for (const WaitingKind& kind : view.waiting) {
    const Bottleneck beside = view.running.front().bound;
    const bool tried = beside_[index(kind.bound)][index(beside)].seconds > prior_seconds + trusted_seconds;
    if (!tried && fits(kind)) return &kind;
  }
  return nullptr;
}

const WaitingKind* BatchPolicy::choose(const BatchView& view, std::string& why) const {
  const std::function<bool(const WaitingKind&)> fits = [&](const WaitingKind& kind) {
    return view.running.empty() || kind.memory_bytes <= view.memory_left;
  };
  const std::array<double, bottlenecks> company = companies(view.running);
  const WaitingKind* longest = nullptr;
  const WaitingKind* best = nullptr;
  double all = 0;
  for (const WaitingKind& kind : view.waiting) {
    all += seconds_of(kind, kind.all);
    if (!fits(kind)) continue;
    const double seconds = seconds_of(kind, kind.heaviest);
    if (longest == nullptr || seconds > seconds_of(*longest, longest->heaviest)) longest = &kind;
    const double gain = best == nullptr ? 0 : company[index(kind.bound)] - company[index(best->bound)];
    if (best == nullptr || gain > alike || (gain > -alike && seconds > seconds_of(*best, best->heaviest)))
      best = &kind;
  }
  if (best == nullptr) return nullptr;
  if (seconds_of(*longest, longest->heaviest) * target_ > longest_share * all) {
    if (longest != best) why = "the longest that is left";
    return longest;
  }
  if (const WaitingKind* untried = try_company(view, fits); untried != nullptr) {
    why = fmt::format("bound by {}, to see how that goes", name_of(untried->bound));
    return untried;
  }
  if (!view.running.empty())
    why = fmt::format("bound by {}, {:.2f} beside what runs", name_of(best->bound),
                      company[index(best->bound)]);
  return best;
}

BatchDecision BatchPolicy::decide(const BatchView& view) {
  BatchDecision decision;
  if (fixed_)
    target_ = std::max(1, *fixed_);
  else
    decision.why = revise(view);
  decision.side_by_side = target_;
  const int running = static_cast<int>(std::ssize(view.running));
  if (running < target_ && !view.waiting.empty()) {
    std::string why;
    if (const WaitingKind* chosen = choose(view, why)) {
      if (!view.running.empty()) ++begun_beside_;
      decision.begin = chosen->kind;
      if (!why.empty()) decision.why += (decision.why.empty() ? "" : "; ") + why;
    } else if (decision.why.empty()) {
      decision.why = "no room in memory for another";
    }
  }
  // At the end few jobs are left and share all threads. Jobs that wait for memory use none.
  const auto waiting = static_cast<int>(
      std::ranges::count_if(view.running, [](const RunningJob& job) { return job.frame_pixels <= 0; }));
  const int together = std::max(1, std::min(target_, jobs_in(view)));
  const auto share_of = [&](int jobs) { return (threads_ + jobs - 1) / jobs; };
  decision.threads_each = share_of(std::max(1, together - waiting));
  decision.decoder_threads = choose_codec_threads(share_of(together), true, false).decoder;
  return decision;
}

std::vector<std::string> BatchPolicy::explain() const {
  std::vector<std::string> lines;
  for (const auto& [jobs, mean] : speeds_)
    lines.push_back(fmt::format("{} side by side: relative speed {:.2f} in {:.1f} s of jobs", jobs,
                                mean.value, mean.seconds));
  for (int a = 0; a < bottlenecks; ++a) {
    for (int b = 0; b < bottlenecks; ++b) {
      const Mean& mean = beside_[static_cast<std::size_t>(a)][static_cast<std::size_t>(b)];
      if (mean.seconds <= prior_seconds) continue;
      lines.push_back(fmt::format("bound by {}, beside {}: relative speed {:.2f} in {:.1f} s",
                                  name_of(static_cast<Bottleneck>(a)), name_of(static_cast<Bottleneck>(b)),
                                  mean.value, mean.seconds - prior_seconds));
    }
  }
  return lines;
}

}  // namespace millrace::run
