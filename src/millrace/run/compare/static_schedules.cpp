#include "millrace/run/compare/static_schedules.h"

#include "millrace/base/clock.h"
#include "millrace/base/median.h"

#include <algorithm>
#include <array>
#include <utility>

namespace millrace::run {
namespace {

// Seconds a frame of one batch of the schedule in use.
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

Result<BestStatic> best_static(image::Executor& executor, image::KernelLibrary& library,
                               const image::ScheduleSpace& space, const image::FrameLayout& layout,
                               const MemoryFrames& frames, const image::Schedule& default_schedule) {
  struct Timed {
    int candidate = 0;
    std::vector<double> times;
  };
  for (const image::KernelBuild& build : space.builds()) {
    for (const image::KernelSpec& spec : build.specs) {
      if (auto kernel = library.wait(spec, build.isa); !kernel) return std::unexpected(kernel.error());
    }
  }
  if (Status set = executor.set(layout, space.schedule(0)); !set) return std::unexpected(set.error());
  std::vector<Timed> field;
  for (int c = 0; c < space.size(); ++c)
    field.push_back({c, {}});
  const auto time_all = [&](int least, double enough) -> Status {
    for (Timed& timed : field) {
      if (Status used = executor.use(space.schedule(timed.candidate)); !used) return used;
      const auto time = time_schedule(executor, frames, least, enough);
      if (!time) return std::unexpected(time.error());
      timed.times.push_back(time->median);
    }
    std::ranges::sort(field, {}, [](const Timed& timed) { return median(timed.times); });
    return {};
  };
  if (Status done = time_all(1, 0); !done) return std::unexpected(done.error());
  BestStatic result;
  for (const Timed& timed : field)
    result.brief.push_back({to_string(space.schedule(timed.candidate)), 1e3 * median(timed.times)});
  field.resize(std::max<std::size_t>(12, field.size() / 3));
  for (Timed& timed : field)
    timed.times.clear();  // one frame was for dropping the worst
  if (Status done = time_all(3, 0.002); !done) return std::unexpected(done.error());
  field.resize(std::min<std::size_t>(12, field.size()));
  for (Timed& timed : field)
    timed.times.clear();
  for (int round = 0; round < 9; ++round) {
    if (Status done = time_all(3, 0.02); !done) return std::unexpected(done.error());
  }
  result.schedule = space.schedule(field.front().candidate);
  std::vector<double> shares;
  for (int round = 0; round < 9; ++round) {
    std::array<double, 2> times{};
    for (const std::size_t which : {0, 1}) {
      if (Status used = executor.use(which == 0 ? result.schedule : default_schedule); !used)
        return std::unexpected(used.error());
      const auto time = time_schedule(executor, frames, 3, 0.02);
      if (!time) return std::unexpected(time.error());
      times[which] = time->median;
    }
    shares.push_back(times[0] / times[1]);
  }
  result.default_share = median(std::move(shares));
  return result;
}

}  // namespace millrace::run
