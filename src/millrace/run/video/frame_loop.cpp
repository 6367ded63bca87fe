#include "millrace/run/video/frame_loop.h"

#include "millrace/base/error/clock.h"
#include "millrace/base/numbers/counted.h"
#include "millrace/machine/thread/thread_affinity.h"
#include "millrace/run/video/cpu_use.h"
#include "millrace/run/video/frame_views.h"
#include "millrace/run/video/pipeline_effects.h"
#include "millrace/video/ffmpeg_backend.h"
#include "millrace/video/frame/frame_fields.h"
#include "millrace/video/reader.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <stop_token>
#include <string_view>
#include <tuple>
#include <utility>

namespace millrace::run {
namespace {

// How long a stopped run waits for the reader of its output pipe.
constexpr std::chrono::seconds patience_with_readers{3};

// Whether the user asked to pin the I/O threads.
bool asks_to_bind_io(const VideoRunOptions& options) {
  if (const auto* fixed = std::get_if<image::Schedule>(&options.schedule))
    return machine::binds_io(fixed->affinity);
  const auto* search = std::get_if<SearchOptions>(&options.schedule);
  return search != nullptr && machine::binds_io(search->adaptive.freedom.affinities.front().arrangement);
}

// Whether batches may hold more than one frame per worker. Not for the baseline that creates threads anew for
// each batch.
bool may_take_large_batches(const VideoRunOptions& options) {
  if (const auto* fixed = std::get_if<image::Schedule>(&options.schedule)) return !fixed->fresh_threads;
  const auto* search = std::get_if<SearchOptions>(&options.schedule);
  return search == nullptr || search->adaptive.objective.aim == tuning::Aim::throughput;
}

// From one file to another.
std::shared_ptr<video::SideStreams> side_streams_for(const VideoSource& source, const VideoSink& sink,
                                                     const VideoRunOptions& options) {
  if (!source.has_side_streams || !sink.takes_side_streams) return nullptr;
  const std::optional<std::int64_t> start = options.start ? options.start : source.side_start;
  return video::make_side_streams(options.audio, {.start = start, .end = options.end}, sink.name);
}

// Adds the time that a call takes.
template <class Fn> auto timed(std::int64_t& sum_ns, Fn&& call) {
  const std::int64_t start = now_ns();
  auto result = call();
  sum_ns += now_ns() - start;
  return result;
}

}  // namespace

FrameLoop::FrameLoop(ExecutionContext& context, const VideoSource& source, const VideoSink& sink,
                     const VideoRunOptions& options, RunControl& control, RunRecord& record)
    : context_(context), source_(source), sink_(sink), options_(options), control_(control), record_(record),
      runner_(context, options_),
      codec_threads_(choose_codec_threads(context.machine().usable.worker_limit, source.coded, sink.coded)),
      input_(source,
             {.decoder_threads = options_.decoder_threads.value_or(codec_threads_.decoder),
              .on_damage = options_.on_damage,
              .samples = options_.samples,
              .autorotate = options_.autorotate,
              .side_streams = side_streams_for(source, sink, options_),
              .stop = control.token()},
             options_.passes, {.start = options_.start, .end = options_.end, .frames = options_.frames}),
      next_(options_.around.before) {
  if (options_.second && image::reads_second(options_.pipeline))
    second_.emplace(
        *options_.second,
        video::ReaderOptions{.decoder_threads = options_.decoder_threads.value_or(codec_threads_.decoder),
                             .on_damage = options_.on_damage,
                             .autorotate = options_.autorotate,
                             .stop = control.token()});
}

Status FrameLoop::prepare() {
  // Which makes small pictures: nothing that is timed is to wait for it. Without it there are none.
  if (options_.recording.pictures) std::ignore = video::load_ffmpeg();
  if (options_.passes > 1 && !source_.repeatable)
    return usage_error("{} cannot be read {} times", source_.name, options_.passes);
  io_cpus_.usable = context_.machine().usable.cpus;
  // Where nothing else is asked for, the first frames are read while all the rest is made.
  const bool bound_later = asks_to_bind_io(options_);
  Status done = open_inputs();
  if (done && !bound_later) start_inputs();
  if (done) done = lay_out();
  if (done && options_.check_output) done = options_.check_output();
  if (done)
    done =
        runner_.set_schedule(made_of(input_.total()),
                             {.live = source_.live, .own_io = true, .expected = made_of(input_.expected())});
  if (done && bound_later) {
    io_cpus_.io = runner_.executor().io_cpus();
    start_inputs();
  }
  if (done) move_io();
  if (done) done = open_sink();
  if (!done) return done;
  outputs_.emplace(runner_.layout().output);
  if (may_take_large_batches(options_))
    batch_size_.emplace(
        std::max(video::frame_bytes(runner_.layout().input), video::frame_bytes(runner_.layout().output)),
        made_of(input_.total()));
  if (const auto total = made_of(input_.total())) control_.total(*total);
  return {};
}

Status FrameLoop::open_inputs() {
  if (second_ && (options_.passes > 1 || options_.start))
    return usage_error("a second video begins with the first one and is read once; leave out {}",
                       options_.passes > 1 ? "--loop" : "--start");
  if (Status opened = input_.open(); !opened) return opened;
  if (second_)
    if (Status opened = second_->open(input_.format()); !opened) return opened;
  window_.emplace(input_, second_ ? &*second_ : nullptr);
  return {};
}

void FrameLoop::start_inputs() {
  input_.start(io_cpus_);
  if (second_) second_->start(io_cpus_);
}

// To where the schedule in use wants the threads that read and write.
void FrameLoop::move_io() {
  if (runner_.executor().io_cpus() == io_cpus_.io) return;
  io_cpus_.io = runner_.executor().io_cpus();
  input_.move_to(io_cpus_);
  if (second_) second_->move_to(io_cpus_);
  if (writer_ && writer_->has_thread()) io_cpus_.move_for_io(writer_->thread());
}

int FrameLoop::batch_size(int side_by_side) {
  if (!batch_size_) return side_by_side;
  // No more frames than need be run by what may be bad.
  if (runner_.search() != nullptr && runner_.search()->trying()) return side_by_side;
  const std::int64_t switches = runner_.executor().switches();
  if (switches != std::exchange(switches_, switches)) batch_size_->forget();
  return batch_size_->frames(side_by_side);
}

void FrameLoop::deepen_queues(int frames) {
  const std::size_t depth = video::queue_depth_for(frames);
  if (depth == queue_depth_) return;
  queue_depth_ = depth;
  input_.set_depth(depth);
  if (second_) second_->set_depth(depth);
  writer_->set_depth(depth);
}

std::optional<std::int64_t> FrameLoop::made_of(std::optional<std::int64_t> frames) const {
  if (frames) *frames = std::max<std::int64_t>(0, *frames - options_.around.before - options_.around.after);
  return frames;
}

Status FrameLoop::lay_out() {
  const auto format_of = [&](video::FrameFormat format) {
    if (options_.treat_as_progressive) format.field_order = video::FieldOrder::progressive;
    return format;
  };
  // What the first frame says of its fields holds for no other.
  const auto check_frames = [&](auto& of, const video::FrameFormat& format, const std::string& name) {
    if (options_.treat_as_progressive) return;
    of.check_by([this, format, &name](const video::Frame& frame) {
      return check_frame_fields(options_.pipeline, format, frame, name);
    });
  };
  const video::FrameFormat input = format_of(input_.format());
  if (Status fields = check_fields(options_.pipeline, input, source_.name); !fields) return fields;
  check_frames(input_, input, source_.name);
  std::optional<video::FrameFormat> second;
  if (second_) {
    second = format_of(second_->format());
    if (Status fields = check_fields(options_.pipeline, *second, options_.second->name); !fields)
      return fields;
    check_frames(*second_, *second, options_.second->name);
    record_.warnings = second_->warnings(input);
  }
  if (Status done = runner_.lay_out(input, second); !done) return done;
  record_.input_format = runner_.layout().input;
  record_.second_format = runner_.layout().second;
  record_.output_format = runner_.layout().output;
  return {};
}

Status FrameLoop::open_sink() {
  const machine::AffinityGuard own;
  io_cpus_.bind_for_codec();
  video::WriterOptions options = options_.writer;
  options.encoder_threads = options_.encoder_threads.value_or(codec_threads_.encoder);
  options.keep_part = options_.keep_part;
  options.stop = control_.token();
  options.side_streams = input_.side_streams();
  options.properties = after_pipeline(input_.properties(), options_.pipeline);
  auto opened = sink_.open(runner_.layout().output, options);
  if (!opened) return std::unexpected(opened.error());
  io_cpus_.bind_for_io();
  record_.written_as = (*opened)->written_as();
  record_.written_as.bytes.reset();
  if (!record_.written_as.fallback.empty()) record_.warnings.push_back(record_.written_as.fallback);
  if (image::AdaptiveScheduler* const search = runner_.search(); search != nullptr) {
    observer_ = BatchObserver((*opened)->frames_ahead());
    search->observe(observer_.feedback());
  }
  writer_ = std::make_unique<video::OverlappedWriter>(
      std::move(*opened), queue_depth_,
      [this](std::int64_t came_ns) { latency_.record(seconds(now_ns() - came_ns)); });
  if (source_.coded) record_.decoder_threads = options_.decoder_threads.value_or(codec_threads_.decoder);
  if (sink_.coded) record_.encoder_threads = options.encoder_threads;
  return {};
}

Status FrameLoop::run() {
  const std::int64_t start = now_ns();
  if (options_.recording.frames) recorder_.emplace(runner_.executor(), options_.recording, start);
  // What is not kept waits for no reader of the output, and what is kept for none that reads no more.
  const std::stop_callback hurry(control_.token(), [this] {
    if (options_.keep_part)
      writer_->cancel_after(patience_with_readers);
    else
      writer_->cancel();
  });
  const CpuWatch cpus;
  Status outcome = process(start);
  if (!context_.is_shared()) record_.cpu_use = cpus.since_then(context_.machine().usable.worker_limit);
  record_.input_wait_seconds = seconds(window_->waited_ns());
  record_.output_wait_seconds = seconds(output_wait_ns_);
  runner_.finish(record_, seconds(start));
  const bool interrupted = stopped();
  if (outcome && !interrupted && record_.frames == 0) outcome = failure("'{}' has no frames", source_.name);
  const bool kept = (outcome && !interrupted) || options_.keep_part;
  if (record_.frames > 0 && kept) {
    // Also after an error: a valid output up to there.
    const bool cut = !outcome || interrupted || (options_.frames && record_.frames >= *options_.frames);
    if (cut && input_.side_streams()) video::end_with_frames(*input_.side_streams());
    const Status finished = timed(output_wait_ns_, [&] { return writer_->finish(); });
    record_.output_complete = writer_->is_complete();
    record_.latency = latency_;
    if (!finished && outcome) outcome = finished;
    record_.not_kept = input_.unread();
    if (!sink_.coded && input_.properties()) {
      for (const auto& [name, bytes] : *input_.properties())
        record_.not_kept.push_back(name);
    }
    std::ranges::copy(writer_->not_kept(), std::back_inserter(record_.not_kept));
    if (record_.output_complete) record_.written_as = writer_->written_as();
  }
  // Without those that were queued when it failed.
  if (!kept) writer_->give_up();
  record_.frames = writer_->frames_written();
  control_.frames(record_.frames);
  record_.wall_seconds = seconds(now_ns() - start);
  record_.output_wait_seconds = seconds(output_wait_ns_);
  record_.losses = input_.losses();
  if (const video::Losses& l = record_.losses; l.clock_jumps > 0)
    record_.warnings.push_back(fmt::format(
        "{}: its clock runs back {}{}; what follows was moved to go on from there, sound and pictures alike",
        source_.name, l.first_clock_jump,
        l.clock_jumps > 1
            ? fmt::format(", and {} more time{}", l.clock_jumps - 1, l.clock_jumps == 2 ? "" : "s")
            : ""));
  if (second_) {
    if (std::string lost = second_->losses(); !lost.empty()) record_.warnings.push_back(std::move(lost));
  }
  if (recorder_) record_.recording = std::make_shared<RunRecording>(recorder_->finish(record_.schedule));
  const bool interrupted_at_its_end = !outcome && outcome.error().kind == ErrorKind::interrupted && stopped();
  return interrupted || interrupted_at_its_end ? interruption(outcome) : outcome;
}

// What a run says that was stopped: what its output holds, or what failed as well.
Status FrameLoop::interruption(const Status& outcome) const {
  const bool may_have_output = sink_.keeps_frames && options_.keep_part;
  const bool none = record_.frames == 0 || !sink_.keeps_frames;
  const std::string_view what = !outcome && may_have_output ? std::string_view(outcome.error().message)
                                : none                      ? "there is no output"
                                : options_.keep_part        ? "the output holds them"
                                                            : "the output is not kept";
  return std::unexpected(Error{ErrorKind::interrupted, fmt::format("interrupted after {}; {}",
                                                                   counted(record_.frames, "frame"), what)});
}

Status FrameLoop::process(std::int64_t start_ns) {
  while (more_ && !stopped()) {
    runner_.expect(made_of(input_.expected()));
    const Result<int> side_by_side = runner_.prepare();
    if (!side_by_side) return std::unexpected(side_by_side.error());
    move_io();
    const int most = batch_size(*side_by_side);
    deepen_queues(most);
    const FrameTime before = times();
    Batch batch;
    Status read = fill(batch, *side_by_side, most);
    if (batch.tasks.empty()) return read;
    const auto frames = static_cast<int>(batch.tasks.size());
    batch.rounds = (frames + *side_by_side - 1) / *side_by_side;
    // What was read before an error is processed and written all the same.
    if (Status done = compute(batch); !done) return done;
    window_->forget_before(next_ - runner_.layout().neighbours().before);
    if (Status handed = hand_over(batch); !handed) return handed;
    const FrameTime spent = times_since(before, batch);
    if (batch_size_) batch_size_->add(frames, spent.computing);
    if (recorder_) recorder_->handed_on(spent);
    if (runner_.search() != nullptr) observe(spent);
    if (options_.on_progress) options_.on_progress(control_.progress(), runner_.executor().in_use());
    if (options_.on_batch) {
      const FrameTime so_far = times();
      options_.on_batch({.progress = control_.progress(),
                         .wall_seconds = seconds(now_ns() - start_ns),
                         .compute_seconds = so_far.computing,
                         .input_wait_seconds = so_far.input_wait,
                         .output_wait_seconds = so_far.output_wait,
                         .in_use = runner_.executor().in_use(),
                         .search = runner_.search()});
    }
    if (!read) return read;
  }
  return {};
}

FrameTime FrameLoop::times() const {
  return {.computing = runner_.executor().compute_seconds(),
          .input_wait = seconds(window_->waited_ns()),
          .output_wait = seconds(output_wait_ns_)};
}

FrameTime FrameLoop::times_since(const FrameTime& before, const Batch& batch) const {
  const FrameTime now = times();
  const double computing = now.computing - before.computing;
  return {.frames = std::ssize(batch.tasks),
          .computing = computing,
          .input_wait = now.input_wait - before.input_wait,
          .output_wait = now.output_wait - before.output_wait,
          .slowest = computing / batch.rounds};
}

void FrameLoop::observe(const FrameTime& batch) {
  const double pixels = static_cast<double>(record_.output_format.width) * record_.output_format.height;
  const image::Executor& executor = runner_.executor();
  runner_.search()->observe(
      observer_.add(batch, {.frames = record_.frames,
                            .pixels = static_cast<double>(record_.frames) * pixels,
                            .processor_seconds = executor.in_use().threads * executor.compute_seconds(),
                            .io_pinned = !io_cpus_.io.empty()}));
}

// Up to `most` frames; fewer where there are no more, or where parameters change, which frames side by side
// share. Only the first round is waited for.
Status FrameLoop::fill(Batch& batch, int side_by_side, int most) {
  while (std::ssize(batch.tasks) < most) {
    const std::int64_t taken = std::ssize(batch.tasks);
    if (taken > 0 && taken % side_by_side == 0 &&
        last_for(next_ + side_by_side - 1) >= window_->end_of_those_there())
      return {};
    if (!batch.tasks.empty() && runner_.changes_at(number_of(next_))) return {};
    window_->read_as_far_as(last_for(next_));
    if (next_ + options_.around.after >= window_->end()) {
      more_ = false;
      return stopped() ? Status{} : window_->error();
    }
    if (batch.tasks.empty()) {
      batch.first = next_;
      if (Status followed = runner_.follow_changes(number_of(next_)); !followed) return followed;
    }
    if (Status added = add(batch, next_); !added) return added;
    ++next_;
  }
  return {};
}

std::int64_t FrameLoop::last_for(std::int64_t frame) const {
  return frame + std::max(runner_.layout().neighbours().after, options_.around.after);
}

std::int64_t FrameLoop::came_ns(std::int64_t frame) const {
  if (!source_.live) return now_ns();
  return window_->came_ns(frame + runner_.layout().neighbours().after);
}

Status FrameLoop::add(Batch& batch, std::int64_t frame) {
  auto target = outputs_->acquire();
  if (!target) return std::unexpected(target.error());
  const video::Frame& held = window_->frame(frame);
  target->index = number_of(held.index);
  target->timestamp = held.timestamp;
  target->properties = video::without_fields(held.properties);
  image::FrameTask task;
  for (const image::SourceFrame& source : runner_.layout().sources) {
    const std::int64_t read = frame + source.offset;
    const video::Frame& from = source.second ? window_->beside(read) : window_->frame(read);
    std::ranges::copy(views_of(from), std::back_inserter(task.sources));
  }
  task.destinations = views_of(*target);
  batch.came_ns.push_back(came_ns(frame));
  batch.after.push_back(std::move(*target));
  batch.tasks.push_back(std::move(task));
  return {};
}

Status FrameLoop::compute(const Batch& batch) {
  if (recorder_) recorder_->before(batch.first);
  const Status done = runner_.run(batch.tasks, seconds(now_ns() - batch.came_ns.front()));
  if (!done) return failure("frame {}: {}", batch.first, done.error().message);
  if (recorder_) recorder_->computed(window_->frame(batch.first), batch.after.front());
  return {};
}

Status FrameLoop::hand_over(Batch& batch) {
  for (std::size_t i = 0; i < batch.after.size(); ++i) {
    const auto write = [&] { return writer_->write(std::move(batch.after[i]), batch.came_ns[i]); };
    if (Status written = timed(output_wait_ns_, write); !written) return written;
    ++record_.frames;
    if (record_.frames == 1) record_.first_frame_seconds = seconds(now_ns() - options_.start_ns);
    control_.frames(record_.frames);
  }
  return {};
}

}  // namespace millrace::run
