#include "millrace/run/batch/batch.h"

#include "millrace/base/error/clock.h"
#include "millrace/base/error/without_exceptions.h"
#include "millrace/base/numbers/counted.h"
#include "millrace/run/batch/run_memory.h"
#include "millrace/run/video/codec_threads.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <iterator>
#include <system_error>
#include <utility>

#include <fmt/format.h>

namespace millrace::run {
namespace {

constexpr std::size_t most_decisions_kept = 300;
constexpr auto tick = std::chrono::milliseconds(100);
constexpr double slice_seconds = 2;   // measurement interval for long jobs
constexpr double busy_seconds = 0.4;  // averaging interval

double pixels_of(const video::FrameFormat& format) {
  return static_cast<double>(format.width) * static_cast<double>(format.height);
}

// Assumption until a job of this kind has been measured.
Bottleneck guessed_bound(const BatchJob& job) {
  if (job.sink.coded) return Bottleneck::output;
  return job.source.coded ? Bottleneck::input : Bottleneck::processing;
}

// Output format of a job, as far as it is known before the run lays out its pipeline.
video::FrameFormat format_made(const VideoRunOptions& options, const video::FrameFormat& input) {
  const auto layout = image::lay_out_frame(options.pipeline, input, options.planes, image::Samples::codes);
  return layout ? layout->output : input;
}

}  // namespace

// A running job. Used by the batch's thread unless stated otherwise.
struct Batch::Active {
  std::size_t job = 0;
  int kind = 0;
  Bottleneck bound = Bottleneck::none;
  int decoder_threads = 0;
  std::int64_t begun_ns = 0;
  // Since the last slice, or since the job began to read.
  std::int64_t slice_ns = 0;
  std::int64_t slice_frames = 0;
  double side_by_side_seconds = 0;
  std::array<double, bottlenecks> beside_seconds{};

  std::unique_ptr<VideoRun> run;
  // Guarded by the mutex:
  std::optional<video::FrameFormat> format;
  std::int64_t reading_ns = 0;  // when it was granted memory; it has a format by then
  std::uint64_t memory_bytes = 0;
  bool over = false;
  std::int64_t over_ns = 0;  // when it ended
  Status outcome;

  std::jthread thread;
};

Batch::Batch(ExecutionContext& context, std::vector<BatchJob> jobs, BatchOptions options)
    : context_(context), jobs_(std::move(jobs)), options_(std::move(options)), results_(jobs_.size()),
      policy_(context.threads(), options_.side_by_side), memory_(options_.memory_bytes) {
  std::map<std::string, int> numbers;
  for (std::size_t j = 0; j < jobs_.size(); ++j) {
    const auto [place, added] = numbers.emplace(jobs_[j].kind, static_cast<int>(kinds_.size()));
    if (added) kinds_.push_back({.bound = guessed_bound(jobs_[j])});
    Kind& kind = kinds_[static_cast<std::size_t>(place->second)];
    kind.waiting.push_back(j);
    kind.weight += jobs_[j].weight;
    kind_of_.push_back(place->second);
  }
  // Jobs of equal weight begin in the given order.
  for (Kind& kind : kinds_) {
    std::ranges::reverse(kind.waiting);
    std::ranges::stable_sort(kind.waiting, {}, [this](std::size_t job) { return jobs_[job].weight; });
  }
}

// If run() has thrown, jobs are still running.
Batch::~Batch() {
  for (Active& active : active_)
    if (active.run) active.run->stop();
}

Status Batch::run() {
  start_ns_ = accounted_ns_ = changed_ns_ = busy_since_ns_ = now_ns();
  busy_times_ = machine::read_cpu_times(context_.machine().usable.cpus);
  const std::stop_callback wake(options_.stop, [this] {
    const std::scoped_lock lock(mutex_);
    ++events_;
    happened_.notify_all();
  });
  for (;;) {
    account();
    collect();
    measure_busy();
    stopped_ = options_.stop.stop_requested();
    begin_jobs();
    if (active_.empty()) break;
    report();
    std::unique_lock lock(mutex_);
    happened_.wait_for(lock, tick, [this] { return events_ > 0; });
    events_ = 0;
  }
  report();
  if (stopped_ && ended_ < jobs_.size())
    return std::unexpected(
        Error{ErrorKind::interrupted,
              fmt::format("interrupted after {} of {}", ended_ - failed_, counted(jobs_.size(), "job"))});
  return {};
}

// Adds the time since the last call to every job that reads. A job that opens its input or waits for memory
// does no work and does not count as running next to others.
void Batch::account() {
  struct Span {
    Active* active = nullptr;
    std::int64_t begin = 0;
    std::int64_t end = 0;
  };
  const std::int64_t now = now_ns();
  const std::int64_t before = std::exchange(accounted_ns_, now);
  std::vector<Span> spans;
  {
    const std::scoped_lock lock(mutex_);
    for (Active& active : active_) {
      if (!active.format) continue;
      active.slice_ns = std::max(active.slice_ns, active.reading_ns);
      spans.push_back({&active, std::max(before, active.reading_ns), active.over ? active.over_ns : now});
    }
  }
  for (const Span& span : spans) {
    // When it began to read; jobs that waited for memory then do not count.
    const std::int64_t begun = span.active->reading_ns;
    const auto beside = std::ranges::count_if(
        spans, [&](const Span& other) { return other.active->reading_ns <= begun && begun < other.end; });
    most_side_by_side_ = std::max(most_side_by_side_, static_cast<int>(beside));
    for (const Span& other : spans) {
      const double together = seconds(
          std::max<std::int64_t>(0, std::min(span.end, other.end) - std::max(span.begin, other.begin)));
      span.active->side_by_side_seconds += together;
      if (&other != &span)
        span.active->beside_seconds[static_cast<std::size_t>(other.active->bound)] += together;
    }
    if (seconds(now - span.active->slice_ns) > slice_seconds) observe(*span.active, false);
  }
}

void Batch::observe(Active& active, bool ended) {
  const std::int64_t frames = active.run->progress().frames;
  std::optional<video::FrameFormat> format;
  std::int64_t now = now_ns();
  {
    const std::scoped_lock lock(mutex_);
    format = active.format;
    if (active.over) now = active.over_ns;
  }
  const double duration = seconds(now - active.slice_ns);
  if (format && duration > 0 && (ended || frames > active.slice_frames)) {
    BatchSlice slice{.kind = active.kind,
                     .bound = active.bound,
                     .frame_pixels = pixels_of(*format),
                     .pixels = static_cast<double>(frames - active.slice_frames) * pixels_of(*format),
                     .seconds = duration,
                     .side_by_side = std::max(1.0, active.side_by_side_seconds / duration)};
    for (std::size_t b = 0; b < bottlenecks; ++b)
      slice.beside[b] = active.beside_seconds[b] / duration;
    policy_.observe(slice);
  }
  // A job without a finished frame keeps its time for the next slice. Otherwise the slowest job would never
  // look slow.
  if (!ended && frames == active.slice_frames) return;
  active.slice_ns = now;
  active.slice_frames = frames;
  active.side_by_side_seconds = 0;
  active.beside_seconds = {};
}

// Removes the jobs that have ended.
void Batch::collect() {
  for (auto active = active_.begin(); active != active_.end();) {
    {
      const std::scoped_lock lock(mutex_);
      if (!active->over) {
        ++active;
        continue;
      }
    }
    if (active->thread.joinable()) active->thread.join();
    end(*active);
    active = active_.erase(active);
  }
}

void Batch::end(Active& active) {
  BatchResult& result = results_[active.job];
  result.outcome = std::move(active.outcome);
  result.record = active.run->record();
  if (!options_.keep_decisions) {
    result.record.decisions.reset();
    result.record.explanation = {};
  }
  result.seconds = seconds(active.over_ns - active.begun_ns);
  changed_ns_ = now_ns();
  Kind& kind = kinds_[static_cast<std::size_t>(active.kind)];
  if (active.memory_bytes > 0) kind.memory_bytes = active.memory_bytes;
  if (!result.outcome && result.outcome.error().kind == ErrorKind::interrupted) return;
  ++ended_;
  weight_done_ += jobs_[active.job].weight;
  if (!result.outcome) {
    ++failed_;
    return;
  }
  if (result.skipped) return;
  observe(active, true);
  kind.bound = bottleneck_of(result.record);
}

void Batch::measure_busy() {
  const std::int64_t now = now_ns();
  const double passed = seconds(now - busy_since_ns_);
  if (passed < busy_seconds) return;
  // Load of all programs: CPUs that others use are not available.
  const auto times = machine::read_cpu_times(context_.machine().usable.cpus);
  busy_ = times && busy_times_ ? machine::busy_share(*busy_times_, *times) : std::nullopt;
  busy_since_ns_ = now;
  busy_times_ = times;
}

BatchView Batch::view() const {
  BatchView view{
      .memory_left = memory_.left(), .busy = busy_, .seconds_unchanged = seconds(now_ns() - changed_ns_)};
  for (const Active& active : active_)
    view.running.push_back({active.bound, active.format ? pixels_of(*active.format) : 0});
  double left = 0;
  for (std::size_t k = 0; k < kinds_.size(); ++k) {
    const Kind& kind = kinds_[k];
    if (kind.waiting.empty()) continue;
    left += kind.weight;
    view.waiting.push_back({.kind = static_cast<int>(k),
                            .bound = kind.bound,
                            .jobs = std::ssize(kind.waiting),
                            .heaviest = jobs_[kind.waiting.back()].weight,
                            .all = kind.weight,
                            .memory_bytes = kind.memory_bytes});
  }
  if (weight_done_ > 0) view.seconds_left = left / weight_done_ * seconds(now_ns() - start_ns_);
  return view;
}

void Batch::begin_jobs() {
  for (;;) {
    BatchDecision decision;
    {
      const std::scoped_lock lock(mutex_);  // formats are written by the jobs' threads
      decision = policy_.decide(view());
    }
    context_.shared_workers().limit_each(decision.threads_each);
    if (stopped_ || !decision.begin) return;
    begin(*decision.begin, decision);
  }
}

void Batch::begin(int number, const BatchDecision& decision) {
  Kind& kind = kinds_[static_cast<std::size_t>(number)];
  const std::size_t job = kind.waiting.back();
  kind.waiting.pop_back();
  kind.weight -= jobs_[job].weight;
  BatchJob& todo = jobs_[job];
  changed_ns_ = now_ns();

  Active& active = active_.emplace_back();
  active.job = job;
  active.kind = number;
  active.bound = kind.bound;
  active.begun_ns = active.slice_ns = changed_ns_;
  if (decisions_.size() < most_decisions_kept)
    decisions_.push_back(fmt::format("{:.2f} s: {}, {} side by side, {} thread{} each{}{}",
                                     seconds(changed_ns_ - start_ns_), todo.source.name, active_.size(),
                                     decision.threads_each, decision.threads_each == 1 ? "" : "s",
                                     decision.why.empty() ? "" : ": ", decision.why));
  else
    ++decisions_left_out_;

  VideoRunOptions options = todo.options;
  options.stop = options_.stop;
  options.keep_part = false;
  options.start_ns = changed_ns_;
  if (!options.decoder_threads) options.decoder_threads = decision.decoder_threads;
  active.decoder_threads = todo.source.coded ? *options.decoder_threads : 0;
  // A job's memory is known once its input is open. Then it waits for its grant before it reads on.
  VideoSource source = todo.source;
  source.open = [this, &active, open = todo.source.open](
                    const video::ReaderOptions& how) -> Result<std::unique_ptr<video::FrameReader>> {
    auto reader = open(how);
    if (!reader || active.format) return reader;
    const BatchJob& own = jobs_[active.job];
    const CodecThreads chosen =
        choose_codec_threads(context_.machine().usable.worker_limit, own.source.coded, own.sink.coded);
    const std::uint64_t bytes = run_memory_bytes(
        {.input = (*reader)->format(),
         .output = format_made(own.options, (*reader)->format()),
         .decoder_threads = active.decoder_threads,
         .encoder_threads = own.sink.coded ? own.options.encoder_threads.value_or(chosen.encoder) : 0,
         .frames_in_flight = most_frames_in_flight(own.options, context_.threads())});
    if (Status taken = memory_.take(bytes, how.stop); !taken) return std::unexpected(taken.error());
    const std::scoped_lock lock(mutex_);
    active.format = (*reader)->format();
    active.reading_ns = now_ns();
    active.memory_bytes = bytes;
    ++events_;
    happened_.notify_all();
    return reader;
  };
  active.run = std::make_unique<VideoRun>(context_, std::move(source), todo.sink, std::move(options));
  results_[job].begun = true;
  try {
    active.thread = std::jthread([this, &active] { run_job(active); });
  } catch (const std::system_error&) {
    // Without a new thread this one runs the job; nothing else waits for this thread.
    run_job(active);
  }
}

void Batch::run_job(Active& active) {
  Status outcome = guarded_run(active);
  if (options_.ended) {
    Status told = without_exceptions([&]() -> Status {
      options_.ended(active.job);
      return {};
    });
    if (!told && outcome) outcome = std::move(told);
  }
  const std::scoped_lock lock(mutex_);
  // From here on, jobs waiting for this memory begin to read.
  if (active.memory_bytes > 0) memory_.give_back(active.memory_bytes);
  active.outcome = std::move(outcome);
  active.over = true;
  active.over_ns = now_ns();
  ++events_;
  happened_.notify_all();
}

// An exception must not end the thread, which would end all other jobs.
Status Batch::guarded_run(Active& active) {
  const auto work = [&]() -> Status {
    if (options_.before) {
      const auto to_do = options_.before(active.job);
      if (!to_do) return std::unexpected(to_do.error());
      results_[active.job].skipped = !*to_do;
      if (!*to_do) return {};
    }
    if (Status done = active.run->run(); !done) return done;
    return options_.after ? options_.after(active.job, active.run->record()) : Status();
  };
  return without_exceptions(work, "out of memory; let fewer run side by side, or give them less: --memory");
}

void Batch::report() {
  if (!options_.on_progress) return;
  BatchProgress progress{.jobs = jobs_.size(), .ended = ended_, .failed = failed_, .running = {}};
  for (const Active& active : active_)
    progress.running.push_back({active.job, active.run->progress()});
  options_.on_progress(progress);
}

std::vector<std::string> Batch::explain() const {
  std::vector<std::string> lines = decisions_;
  if (decisions_left_out_ > 0) lines.push_back(fmt::format("and {} more", decisions_left_out_));
  std::ranges::copy(policy_.explain(), std::back_inserter(lines));
  return lines;
}

}  // namespace millrace::run
