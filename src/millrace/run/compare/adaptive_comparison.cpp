#include "millrace/run/compare/adaptive_comparison.h"

#include "millrace/base/error/clock.h"
#include "millrace/base/numbers/median.h"
#include "millrace/image/adapt/adaptive_scheduler.h"
#include "millrace/image/layout/default_schedule.h"
#include "millrace/image/pipeline/parameter_timeline.h"
#include "millrace/image/pipeline/presets.h"
#include "millrace/run/compare/bench_stream.h"
#include "millrace/run/compare/busy_process.h"
#include "millrace/run/compare/static_schedules.h"

#include <algorithm>
#include <optional>

namespace millrace::run {
namespace {

constexpr double window_seconds = 0.25;     // seconds of the adaptive stream between two measurements of the
                                            // others
constexpr double windows_to_looks = 3;      // and at least this multiple of the last measurement's duration
constexpr double reference_seconds = 0.03;  // for each of the others per measurement
constexpr int least_reference_frames = 3;

struct Work {
  image::Pipeline pipeline;
  image::FrameLayout layout;
};

Result<Work> work_of(const image::Pipeline& pipeline, const AdaptCase& which) {
  auto layout = image::lay_out_frame(pipeline, {.width = which.width, .height = which.height});
  if (!layout) return std::unexpected(layout.error());
  return Work{pipeline, std::move(*layout)};
}

// Search space of the adaptive run.
image::ScheduleFreedom freedom_of(const machine::MachineReport& machine, int threads) {
  image::ScheduleFreedom freedom{.max_threads = threads, .isas = {machine.isa}};
  freedom.cache_bytes = machine.topology.last_level_bytes(machine.usable.cpus).value_or(freedom.cache_bytes);
  for (machine::Isa isa : machine::all_isas()) {
    if (isa > machine::Isa::baseline && isa < machine.isa) freedom.isas.insert(freedom.isas.begin() + 1, isa);
  }
  if (threads > 1) freedom.affinities.push_back({machine::AffinityArrangement::pinned});
  return freedom;
}

// Search space of static schedules.
image::ScheduleFreedom static_freedom(image::ScheduleFreedom freedom, const AdaptCase& which,
                                      bool exhaustive) {
  if (exhaustive) return freedom;
  if (!which.older_isas) freedom.isas.resize(1);
  if (which.disturbance != Disturbance::load) freedom.threads = which.threads;
  return freedom;
}

// One measurement of the others, and the adaptive stream since the previous one.
struct Window {
  double end = 0;  // seconds of the adaptive stream
  std::int64_t frames = 0;
  double seconds = 0;
  std::vector<double> frame_seconds;
  ScheduleTime best;
  ScheduleTime sequential;

  [[nodiscard]] double share() const { return best.median / median(frame_seconds); }
};

// Runs the adaptive stream interleaved with the others.
class Comparison {
 public:
  Comparison(const MemoryFrames& frames, BenchStream& adaptive, BenchStream& fixed)
      : frames_(frames), adaptive_(adaptive), fixed_(fixed) {}

  // Runs until the adaptive stream has run for `more` seconds. `best` and `sequential` must be schedules of
  // `space`.
  Status run(image::AdaptiveScheduler& scheduler, const image::Schedule& best,
             const image::Schedule& sequential, double more) {
    const double until = clock_ + more;
    while (clock_ < until) {
      Window window;
      if (Status done = adaptive_.work(
              [&](image::Executor&, image::KernelLibrary&) { return run_window(scheduler, window); });
          !done)
        return done;
      const std::int64_t start = now_ns();
      if (Status done = fixed_.work([&](image::Executor& executor, image::KernelLibrary&) {
            return look(executor, best, sequential, window);
          });
          !done)
        return done;
      took_ += window.seconds + seconds(now_ns() - start);
      length_ = std::max(window_seconds, windows_to_looks * seconds(now_ns() - start));
      windows_.push_back(std::move(window));
    }
    return {};
  }

  [[nodiscard]] const std::vector<Window>& windows() const { return windows_; }
  [[nodiscard]] double clock() const { return clock_; }
  [[nodiscard]] double took() const { return took_; }
  // Frames of the adaptive stream.
  [[nodiscard]] std::int64_t frames() const { return frame_; }

 private:
  Status run_window(image::AdaptiveScheduler& scheduler, Window& window) {
    while (window.seconds < length_) {
      const std::int64_t start = now_ns();
      const auto count = scheduler.prepare();
      if (!count) return std::unexpected(count.error());
      const auto tasks = frames_.next(frame_, *count);
      frame_ += *count;
      if (Status done = scheduler.run(tasks); !done) return done;
      const double spent = seconds(now_ns() - start);
      window.seconds += spent;
      window.frames += *count;
      window.frame_seconds.push_back(spent / *count);
      clock_ += spent;
    }
    window.end = clock_;
    return {};
  }

  Status look(image::Executor& executor, const image::Schedule& best, const image::Schedule& sequential,
              Window& window) const {
    for (const auto& [schedule, time] :
         {std::pair{&best, &window.best}, std::pair{&sequential, &window.sequential}}) {
      if (Status used = executor.use(*schedule); !used) return used;
      const auto measured = time_schedule(executor, frames_, least_reference_frames, reference_seconds);
      if (!measured) return std::unexpected(measured.error());
      *time = *measured;
    }
    return {};
  }

  const MemoryFrames& frames_;
  BenchStream& adaptive_;
  BenchStream& fixed_;
  std::vector<Window> windows_;
  double clock_ = 0;
  double took_ = 0;  // including the others
  double length_ = window_seconds;
  std::int64_t frame_ = 0;
};

// Evaluates the windows from `begin` on. `settled`: first window in which the search should be over.
void judge(const std::vector<Window>& windows, std::size_t begin, std::size_t settled, AdaptResult& result) {
  std::vector<double> shares;
  std::vector<double> best;
  std::vector<double> sequential;
  double spent = 0;
  double needed = 0;
  double sequential_needed = 0;
  for (std::size_t w = begin; w < windows.size(); ++w) {
    const Window& window = windows[w];
    if (w >= settled) shares.push_back(window.share());
    best.push_back(window.best.median);
    sequential.push_back(window.sequential.median);
    spent += window.seconds;
    needed += window.best.mean * static_cast<double>(window.frames);
    sequential_needed += window.sequential.mean * static_cast<double>(window.frames);
  }
  result.converged_share = median(shares);
  result.best_ms = 1e3 * median(best);
  result.sequential_ms = 1e3 * median(sequential);
  result.loss = (spent - needed) / spent;
  result.against_sequential = sequential_needed / spent;

  const double start = begin == 0 ? 0 : windows[begin - 1].end;
  for (std::size_t w = begin; w < windows.size(); ++w) {
    result.frames_to_5 += windows[w].frames;
    // A single window may be an outlier.
    const std::size_t end = std::min(w + 3, windows.size());
    std::vector<double> these;
    for (std::size_t i = w; i < end; ++i)
      these.push_back(windows[i].share());
    if (windows[w].share() < 0.95 || median(these) < 0.95) continue;
    // The exact time within the window is unknown.
    result.seconds_to_5 = windows[w].end - start;
    return;
  }
  result.frames_to_5 = 0;
}

Result<image::Pipeline> disturbed(const image::Pipeline& pipeline) {
  image::Pipeline changed = pipeline;
  for (image::Node& node : changed.nodes) {
    if (node.filter->name != "rotate") continue;
    node.values[0] = node.values[0] == 60 ? 6 : 60;
    return changed;
  }
  return usage_error("the pipeline has no rotate whose angle could change");
}

// Seconds per frame of the first ten frames of a run that starts from the profile and expects to be as long.
Result<double> first_frames(BenchStream& stream, const MemoryFrames& frames, const Work& work,
                            const image::AdaptiveOptions& options) {
  std::vector<double> times;
  Status done = stream.work([&](image::Executor& executor, image::KernelLibrary& library) -> Status {
    auto scheduler = image::AdaptiveScheduler::make(executor, library, work.layout, options);
    if (!scheduler) return std::unexpected(scheduler.error());
    std::int64_t frame = 0;
    while (frame < 10) {
      const std::int64_t start = now_ns();
      const auto count = (*scheduler)->prepare();
      if (!count) return std::unexpected(count.error());
      if (Status ran = (*scheduler)->run(frames.next(frame, *count)); !ran) return ran;
      frame += *count;
      times.push_back(seconds(now_ns() - start) / *count);
    }
    return {};
  });
  if (!done) return std::unexpected(done.error());
  return median(std::move(times));
}

// Compares these with ten frames of the best schedule right afterwards. Returns the median of several such
// runs, because ten frames alone are dominated by noise from other programs.
Result<double> second_run(BenchStream& adaptive, BenchStream& fixed, const MemoryFrames& frames,
                          const Work& work, const image::AdaptiveOptions& options,
                          const image::Schedule& best) {
  constexpr int runs = 9;
  std::vector<double> shares;
  for (int run = 0; run < runs; ++run) {
    const auto own = first_frames(adaptive, frames, work, options);
    if (!own) return own;
    const Status done = fixed.work([&](image::Executor& executor, image::KernelLibrary&) -> Status {
      if (Status used = executor.use(best); !used) return used;
      const auto reference = time_schedule(executor, frames, 10, 0);
      if (reference) shares.push_back(reference->median / *own);
      return reference ? Status{} : Status{std::unexpected(reference.error())};
    });
    if (!done) return std::unexpected(done.error());
  }
  return median(std::move(shares));
}

}  // namespace

Result<AdaptResult> compare_adaptive(const machine::MachineReport& machine, const AdaptCase& which) {
  const std::int64_t start = now_ns();
  const auto pipeline = image::load_pipeline(which.pipeline);
  if (!pipeline) return std::unexpected(pipeline.error());
  auto work = work_of(*pipeline, which);
  if (!work) return std::unexpected(work.error());
  const auto frames = MemoryFrames::make(work->layout.input, work->layout.output);
  if (!frames) return std::unexpected(frames.error());
  const image::ScheduleFreedom freedom = freedom_of(machine, which.threads);
  const auto space =
      image::ScheduleSpace::make(work->layout, static_freedom(freedom, which, which.search.exhaustive));
  if (!space) return std::unexpected(space.error());
  const auto race_space = image::ScheduleSpace::make(work->layout, static_freedom(freedom, which, false));
  if (!race_space) return std::unexpected(race_space.error());
  auto adaptive = BenchStream::start(machine, which.threads);
  if (!adaptive) return std::unexpected(adaptive.error());
  auto fixed = BenchStream::start(machine, which.threads);
  if (!fixed) return std::unexpected(fixed.error());

  AdaptResult result;
  const image::Schedule sequential{.structure = image::Structure::sequential,
                                   .fusion = image::Fusion::none,
                                   .tile = {0, 0},
                                   .threads = which.threads,
                                   .isa = machine.isa};
  const auto find_best = [&](const Work& of) -> Status {
    return (*fixed)->work([&](image::Executor& executor, image::KernelLibrary& library) -> Status {
      const image::Schedule unknown = image::default_schedule(which.threads, machine.isa);
      const std::int64_t began = now_ns();
      auto best = best_static(executor, library, *space, of.layout, *frames, unknown, which.search);
      if (!best) return std::unexpected(best.error());
      if (which.search.exhaustive) {
        const auto raced = best_static(executor, library, *race_space, of.layout, *frames, unknown,
                                       {.seconds = which.search.seconds});
        if (!raced) return std::unexpected(raced.error());
        const auto share = share_of(executor, *frames, raced->schedule, best->schedule);
        if (!share) return std::unexpected(share.error());
        result.race_share = *share;
      }
      result.took.compiling += best->compile_seconds;
      result.took.searching += seconds(now_ns() - began) - best->compile_seconds;
      result.best = best->schedule;
      result.brief = std::move(best->brief);
      result.default_share = best->default_share;
      return {};
    });
  };
  if (Status found = find_best(*work); !found) return std::unexpected(found.error());

  image::AdaptiveOptions options{
      .objective = {}, .freedom = freedom, .seed = which.seed, .profile = std::nullopt};
  std::unique_ptr<image::AdaptiveScheduler> scheduler;
  Status made = (*adaptive)->work([&](image::Executor& executor, image::KernelLibrary& library) -> Status {
    auto started = image::AdaptiveScheduler::make(executor, library, work->layout, options);
    if (!started) return std::unexpected(started.error());
    scheduler = std::move(*started);
    return {};
  });
  if (!made) return std::unexpected(made.error());
  result.candidates = scheduler->space().size();

  Comparison comparison(*frames, **adaptive, **fixed);
  if (Status done = comparison.run(*scheduler, result.best, sequential, which.seconds); !done)
    return std::unexpected(done.error());
  std::size_t begin = 0;
  std::optional<BusyProcess> busy;
  if (which.disturbance != Disturbance::none) {
    begin = comparison.windows().size();
    if (which.disturbance == Disturbance::angle) {
      const auto changed = disturbed(*pipeline);
      if (!changed) return std::unexpected(changed.error());
      auto changed_work = work_of(*changed, which);
      if (!changed_work) return std::unexpected(changed_work.error());
      work = std::move(changed_work);
      Status updated = (*adaptive)->work([&](image::Executor&, image::KernelLibrary&) -> Status {
        scheduler->update(work->layout, image::differs_for_schedules(*pipeline, *changed));
        return {};
      });
      if (!updated) return std::unexpected(updated.error());
    } else {
      auto started = BusyProcess::start(cpus_of_streams(machine, which.threads));
      if (!started) return std::unexpected(started.error());
      busy.emplace(std::move(*started));
    }
    if (Status found = find_best(*work); !found) return std::unexpected(found.error());
    if (Status done = comparison.run(*scheduler, result.best, sequential, which.seconds); !done)
      return std::unexpected(done.error());
  }
  const std::vector<Window>& windows = comparison.windows();
  const std::size_t count = windows.size() - begin;
  const std::size_t settled = begin + (begin == 0 ? count / 2 : count - count / 3);
  judge(windows, begin, settled, result);
  result.incumbent = to_string(scheduler->incumbent());
  result.deciding_share = scheduler->overhead_seconds() / comparison.clock();
  result.reckoned_loss = scheduler->tuner().seconds_lost() / comparison.clock();
  result.trials = scheduler->tuner().record().count(tuning::EventKind::trial);
  result.alarms = scheduler->tuner().record().count(tuning::EventKind::drift);
  options.profile = scheduler->profile();
  options.frames = comparison.frames();
  result.took.adapting = comparison.took();
  const std::int64_t settled_at = now_ns();
  const auto share = second_run(**adaptive, **fixed, *frames, *work, options, result.best);
  if (!share) return std::unexpected(share.error());
  result.second_run_share = *share;
  result.took.second_run = seconds(now_ns() - settled_at);
  result.took.whole = seconds(now_ns() - start);
  return result;
}

nlohmann::ordered_json to_json(const AdaptCase& which, const AdaptResult& r) {
  nlohmann::ordered_json race_share;
  if (r.race_share) race_share = *r.race_share;
  nlohmann::ordered_json brief = nlohmann::ordered_json::array();
  for (const CandidateTime& candidate : r.brief)
    brief.push_back({candidate.schedule, candidate.ms});
  return {{"pipeline", which.pipeline},
          {"width", which.width},
          {"height", which.height},
          {"threads", which.threads},
          {"seconds", which.seconds},
          {"exhaustive", which.search.exhaustive},
          {"candidates", r.candidates},
          {"timed", r.brief.size()},
          {"best", to_string(r.best)},
          {"best_ms", r.best_ms},
          {"sequential_ms", r.sequential_ms},
          {"incumbent", r.incumbent},
          {"converged_share", r.converged_share},
          {"seconds_to_5_percent", r.seconds_to_5},
          {"frames_to_5_percent", r.frames_to_5},
          {"loss", r.loss},
          {"against_sequential", r.against_sequential},
          {"second_run_share", r.second_run_share},
          {"deciding_share", r.deciding_share},
          {"default_share", r.default_share},
          {"race_share", race_share},
          {"reckoned_loss", r.reckoned_loss},
          {"trials", r.trials},
          {"alarms", r.alarms},
          {"took_s",
           {{"compiling", r.took.compiling},
            {"searching", r.took.searching},
            {"adapting", r.took.adapting},
            {"second_run", r.took.second_run},
            {"whole", r.took.whole}}},
          {"brief_ms", std::move(brief)}};
}

}  // namespace millrace::run
