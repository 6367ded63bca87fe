#include "millrace/run/compare/static_schedules.h"

#include "millrace/base/error/clock.h"
#include "millrace/base/numbers/median.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

namespace millrace::run {
namespace {

constexpr int paired_turns = 9;  // for accurate comparisons
constexpr double turn_seconds = 0.02;

// Seconds per frame for one batch of the current schedule.
Result<double> time_batch(image::Executor& executor, const MemoryFrames& frames, std::int64_t first) {
  const int count = executor.in_use().frames_in_flight;
  const auto tasks = frames.next(first, count);
  const std::int64_t start = now_ns();
  if (Status done = executor.run(tasks); !done) return std::unexpected(done.error());
  return seconds(now_ns() - start) / count;
}

}  // namespace

Result<ScheduleTime> time_schedule(image::Executor& executor, const MemoryFrames& frames, int least,
                                   double enough) {
  std::vector<double> times;
  double spent = 0;
  for (int i = -1; i < least || spent < enough; ++i) {
    const auto time = time_batch(executor, frames, i + 1);
    if (!time) return std::unexpected(time.error());
    if (i < 0) continue;
    times.push_back(*time);
    spent += *time * executor.in_use().frames_in_flight;
  }
  const double mean = spent / static_cast<double>(times.size()) / executor.in_use().frames_in_flight;
  return ScheduleTime{median(std::move(times)), mean};
}

Result<double> share_of(image::Executor& executor, const MemoryFrames& frames,
                        const image::Schedule& schedule, const image::Schedule& other) {
  std::vector<double> shares;
  for (int i = 0; i < paired_turns; ++i) {
    std::array<double, 2> times{};
    for (const std::size_t which : {0, 1}) {
      if (Status used = executor.use(which == 0 ? other : schedule); !used)
        return std::unexpected(used.error());
      const auto time = time_schedule(executor, frames, 3, turn_seconds);
      if (!time) return std::unexpected(time.error());
      times[which] = time->median;
    }
    shares.push_back(times[0] / times[1]);
  }
  return median(std::move(shares));
}

namespace {

struct Timed {
  int candidate = 0;
  std::vector<double> times;
};

// The candidates still in the race.
class Field {
 public:
  Field(image::Executor& executor, image::KernelLibrary& library, const image::ScheduleSpace& space,
        const MemoryFrames& frames)
      : executor_(executor), library_(library), space_(space), frames_(frames) {}

  [[nodiscard]] std::size_t size() const { return field_.size(); }
  [[nodiscard]] const std::vector<Timed>& ordered() const { return field_; }
  [[nodiscard]] double compile_seconds() const { return compile_seconds_; }

  // Adds a candidate and waits for its kernels.
  Status add(int candidate) {
    if (const int number = space_.build_of()[candidate]; number >= 0) {
      const image::KernelBuild& build = space_.builds()[number];
      const std::int64_t start = now_ns();
      for (const image::KernelSpec& spec : build.specs) {
        if (auto kernel = library_.wait(spec, build.isa); !kernel) return std::unexpected(kernel.error());
      }
      compile_seconds_ += seconds(now_ns() - start);
    }
    field_.push_back({candidate, {}});
    return {};
  }

  // Discards earlier measurements, which were only good enough for dropping the worst.
  void keep(std::size_t most) {
    field_.resize(std::min(most, field_.size()));
    for (Timed& timed : field_)
      timed.times.clear();
  }

  // Times each in turn, first to last or `backwards`.
  Status time_each(int least, double enough, bool backwards = false) {
    for (std::size_t i = 0; i < field_.size(); ++i) {
      Timed& timed = field_[backwards ? field_.size() - 1 - i : i];
      if (Status used = executor_.use(space_.schedule(timed.candidate)); !used) return used;
      const auto time = time_schedule(executor_, frames_, least, enough);
      if (!time) return std::unexpected(time.error());
      timed.times.push_back(time->median);
    }
    return {};
  }

  // Times one warm-up frame each, and another one unless the candidate is hopeless.
  Status time_briefly() {
    constexpr double hopeless = 4;  // multiple of the best; more than cold caches and fresh memory explain
    double best = std::numeric_limits<double>::infinity();
    for (Timed& timed : field_) {
      if (Status used = executor_.use(space_.schedule(timed.candidate)); !used) return used;
      for (const std::int64_t frame : {0, 1}) {
        const auto time = time_batch(executor_, frames_, frame);
        if (!time) return std::unexpected(time.error());
        timed.times = {*time};
        if (*time > hopeless * best) break;
      }
      best = std::min(best, timed.times.front());
    }
    return {};
  }

  template <class Level> void order(Level&& level) {
    std::ranges::stable_sort(field_, {}, [&](const Timed& timed) { return level(timed.times); });
  }

 private:
  image::Executor& executor_;
  image::KernelLibrary& library_;
  const image::ScheduleSpace& space_;
  const MemoryFrames& frames_;
  std::vector<Timed> field_;
  double compile_seconds_ = 0;
};

std::vector<CandidateTime> times_of(const Field& field, const image::ScheduleSpace& space) {
  std::vector<CandidateTime> times;
  for (const Timed& timed : field.ordered())
    times.push_back({to_string(space.schedule(timed.candidate)), 1e3 * median(timed.times)});
  return times;
}

Status keep_best_of_all(Field& field, const image::ScheduleSpace& space, BestStatic& result) {
  constexpr std::size_t finalists = 12;
  for (int c = 0; c < space.size(); ++c) {
    if (Status added = field.add(c); !added) return added;
  }
  if (Status done = field.time_each(1, 0); !done) return done;
  field.order(median);
  result.brief = times_of(field, space);
  field.keep(std::max(finalists, field.size() / 3));
  if (Status done = field.time_each(3, 0.002); !done) return done;
  field.order(median);
  field.keep(finalists);
  return {};
}

// Adds the same schedules with other affinities and instruction sets.
Status add_variants(Field& field, const image::ScheduleSpace& space) {
  const auto plain = [](image::Schedule schedule) {
    schedule.affinity = {};
    schedule.isa = {};
    return schedule;
  };
  const std::vector<Timed> leaders = field.ordered();
  for (int c = 0; c < space.size(); ++c) {
    const image::Schedule schedule = space.schedule(c);
    const bool variant = std::ranges::any_of(leaders, [&](const Timed& leader) {
      return leader.candidate != c && plain(space.schedule(leader.candidate)) == plain(schedule);
    });
    if (!variant) continue;
    if (Status added = field.add(c); !added) return added;
  }
  return {};
}

Status race_by_halves(Field& field, const image::ScheduleSpace& space, double enough, BestStatic& result) {
  constexpr std::size_t finalists = 8;
  const image::Schedule first = space.schedule(0);
  for (int c = 0; c < space.size(); ++c) {
    const image::Schedule schedule = space.schedule(c);
    if (schedule.structure == image::Structure::backward_store || schedule.affinity != first.affinity ||
        schedule.isa != first.isa)
      continue;
    if (Status added = field.add(c); !added) return added;
  }
  if (Status done = field.time_briefly(); !done) return done;
  field.order(median);
  result.brief = times_of(field, space);
  const double rounds = std::max(1.0, std::log2(static_cast<double>(field.size()) / finalists));
  bool varied = false;
  while (field.size() > finalists || !varied) {
    field.keep(std::max(finalists, (field.size() + 1) / 2));
    if (!varied && field.size() <= 2 * finalists) {
      varied = true;
      if (Status added = add_variants(field, space); !added) return added;
    }
    // Measure forwards and backwards and keep the better time: a disturbance seldom affects both.
    const double each = enough / rounds / 2 / static_cast<double>(field.size());
    for (const bool backwards : {false, true}) {
      if (Status done = field.time_each(1, each, backwards); !done) return done;
    }
    field.order([](const std::vector<double>& times) { return std::ranges::min(times); });
  }
  field.keep(finalists);
  return {};
}

}  // namespace

Result<BestStatic> best_static(image::Executor& executor, image::KernelLibrary& library,
                               const image::ScheduleSpace& space, const image::FrameLayout& layout,
                               const MemoryFrames& frames, const image::Schedule& default_schedule,
                               const StaticSearch& search) {
  const double turn = std::min(turn_seconds, search.seconds / 500);
  if (Status set = executor.set(layout, space.schedule(0)); !set) return std::unexpected(set.error());
  if (Status there = executor.await_kernels(); !there) return std::unexpected(there.error());
  Field field(executor, library, space, frames);
  BestStatic result;
  if (Status done = search.exhaustive ? keep_best_of_all(field, space, result)
                                      : race_by_halves(field, space, search.seconds, result);
      !done)
    return std::unexpected(done.error());
  for (int i = 0; i < paired_turns; ++i) {
    if (Status done = field.time_each(3, turn, i % 2 == 1); !done) return std::unexpected(done.error());
  }
  field.order(median);
  result.schedule = space.schedule(field.ordered().front().candidate);
  result.compile_seconds = field.compile_seconds();
  const auto share = share_of(executor, frames, default_schedule, result.schedule);
  if (!share) return std::unexpected(share.error());
  result.default_share = *share;
  return result;
}

}  // namespace millrace::run
