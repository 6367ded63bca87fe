#include "millrace/cli/run/stream_run.h"

#include "millrace/base/clock.h"
#include "millrace/base/progress_line.h"
#include "millrace/cli/run/adaptive_run.h"
#include "millrace/cli/run/frame_views.h"
#include "millrace/image/pipeline/parameter_timeline.h"
#include "millrace/machine/thread/thread_affinity.h"
#include "millrace/video/frame/frame_pool.h"
#include "millrace/video/overlap/overlapped_reader.h"
#include "millrace/video/overlap/overlapped_writer.h"

#include <cmath>
#include <optional>
#include <tuple>

namespace millrace::cli {
namespace {

constexpr std::string_view pipe_name = "-";

Result<std::unique_ptr<video::FrameReader>> open_overlapped(const RunContext& context) {
  auto reader = open_input(context);
  if (!reader) return std::unexpected(reader.error());
  return std::make_unique<video::OverlappedReader>(std::move(*reader));
}

// Binds the calling thread, so that threads which it makes start there. Where the kernel refuses, they run
// anywhere: slower perhaps, never wrong.
void bind_io(const machine::CpuSet& cpus) {
  if (!cpus.empty()) std::ignore = machine::bind_current_thread(cpus);
}

// The input, as often as --loop says, and no further than --frames.
class Input {
 public:
  explicit Input(const RunContext& context) : context_(context) {}

  Status open() {
    auto reader = open_overlapped(context_);
    if (!reader) return std::unexpected(reader.error());
    const bool first = !reader_;
    if (!first && (*reader)->format() != reader_->format()) {
      return failure("'{}' changed its format between two passes", context_.options.input);
    }
    reader_ = std::move(*reader);
    return {};
  }

  [[nodiscard]] const video::FrameFormat& format() const { return reader_->format(); }

  [[nodiscard]] std::optional<std::int64_t> total() const {
    auto hint = reader_->frame_count_hint();
    if (hint) *hint *= context_.options.loop;
    if (!context_.options.frames) return hint;
    return hint ? std::min(*hint, *context_.options.frames) : *context_.options.frames;
  }

  // How many frames next() has given; the number of the one to come.
  [[nodiscard]] std::int64_t delivered() const { return delivered_; }

  Result<std::optional<video::Frame>> next() {
    if (context_.options.frames && delivered_ >= *context_.options.frames) return std::nullopt;
    while (true) {
      auto frame = reader_->next();
      if (!frame || *frame) {
        if (frame) {
          (*frame)->index = delivered_++;
          put_in_time(**frame);
        }
        return frame;
      }
      if (++pass_ >= context_.options.loop || delivered_ == 0) return frame;
      before_ = add(before_, reader_->losses());
      if (last_time_) shift_ = *last_time_ + frame_duration() - first_time_;
      if (Status reopened = open(); !reopened) return std::unexpected(reopened.error());
    }
  }

  [[nodiscard]] video::Losses losses() const { return add(before_, reader_->losses()); }

 private:
  static video::Losses add(const video::Losses& a, const video::Losses& b) {
    return {a.at_start + b.at_start, a.damaged + b.damaged,
            a.first_damage.empty() ? b.first_damage : a.first_damage};
  }

  // Every pass begins when the last frame of the one before has been shown.
  void put_in_time(video::Frame& frame) {
    if (!frame.timestamp) return;
    *frame.timestamp += shift_;
    if (!last_time_) first_time_ = *frame.timestamp;
    last_time_ = *frame.timestamp;
  }

  // In units of the time base.
  [[nodiscard]] std::int64_t frame_duration() const {
    const video::FrameFormat& f = format();
    const double units = static_cast<double>(f.rate_denominator) / f.rate_numerator *
                         f.time_base_denominator / f.time_base_numerator;
    return std::max<std::int64_t>(1, std::llround(units));
  }

  const RunContext& context_;
  std::unique_ptr<video::FrameReader> reader_;
  video::Losses before_;  // in earlier passes
  std::optional<std::int64_t> last_time_;
  std::int64_t first_time_ = 0;
  std::int64_t shift_ = 0;
  std::int64_t delivered_ = 0;
  int pass_ = 0;
};

// The output has one size from its first frame to its last.
Status check_sizes(const RunContext& context, const image::ParameterTimeline& timeline,
                   const image::FrameLayout& layout) {
  for (std::int64_t frame : timeline.ends()) {
    const auto changed = image::lay_out_frame(timeline.at(frame), layout.input, context.planes);
    if (!changed) return std::unexpected(changed.error());
    if (changed->output != layout.output) {
      return usage_error(
          "--at frame {}: the output would become {} instead of {}; crop cannot change within a run", frame,
          video::to_string(changed->output), video::to_string(layout.output));
    }
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<video::FrameReader>> open_input(const RunContext& context) {
  const auto on_damage = on_damage_of(context.options);
  if (!on_damage) return std::unexpected(on_damage.error());
  return video::open_reader(context.options.input, {.decoder_threads = context.options.decoder_threads,
                                                    .on_damage = *on_damage,
                                                    .stop = context.interrupt.token()});
}

Status stream_run(const RunContext& context, RunReport& report) {
  const RunOptions& options = context.options;
  if (options.loop > 1 && options.input == pipe_name)
    return usage_error("--loop cannot read standard input twice");
  auto writer_options = writer_options_of(options);
  if (!writer_options) return std::unexpected(writer_options.error());
  writer_options->stop = context.interrupt.token();

  Input input(context);
  if (Status opened = input.open(); !opened) return opened;
  const auto layout = image::lay_out_frame(context.pipeline, input.format(), context.planes);
  if (!layout) return std::unexpected(layout.error());
  report.input_format = layout->input;
  report.output_format = layout->output;
  const auto timeline = image::ParameterTimeline::make(context.pipeline, options.changes);
  if (!timeline) return std::unexpected(timeline.error());
  if (Status fits = check_sizes(context, *timeline, *layout); !fits) return fits;

  std::optional<AdaptiveRun> adaptive;
  if (is_adaptive(options)) {
    auto started = AdaptiveRun::start(context, *layout);
    if (!started) return std::unexpected(started.error());
    adaptive.emplace(std::move(*started));
  } else if (Status set = context.executor.set(*layout, context.schedule); !set) {
    return set;
  }
  image::Pipeline announced = context.pipeline;  // that the scheduler knows of

  std::unique_ptr<video::OverlappedWriter> writer;
  {
    const machine::AffinityGuard own;
    bind_io(context.executor.io_cpus());
    auto opened = video::open_writer(options.output, layout->output, *writer_options);
    if (!opened) return std::unexpected(opened.error());
    writer = std::make_unique<video::OverlappedWriter>(std::move(*opened));
  }
  video::FramePool outputs(layout->output);
  ProgressLine progress(!options.quiet, {.plural = "frames"});
  const auto total = input.total();

  const std::int64_t loop_start = now_ns();
  Status outcome;
  bool more = true;
  while (more && outcome && !context.interrupt.requested()) {
    std::vector<video::Frame> before;
    std::vector<video::Frame> after;
    std::vector<image::FrameTask> tasks;
    Result<int> side_by_side = context.schedule.frames_in_flight;
    if (adaptive) side_by_side = adaptive->scheduler().prepare();
    if (!side_by_side) {
      outcome = std::unexpected(side_by_side.error());
      break;
    }
    std::int64_t first_in_ns = 0;
    while (static_cast<int>(before.size()) < *side_by_side) {
      // Frames side by side share their parameters.
      if (!before.empty() && timeline->changes_at(input.delivered())) break;
      auto frame = input.next();
      if (!frame || !*frame) {
        if (!frame && !context.interrupt.requested()) outcome = std::unexpected(frame.error());
        more = false;
        break;
      }
      if (before.empty()) {
        first_in_ns = now_ns();
        if (timeline->changes_at((*frame)->index)) {
          const image::Pipeline pipeline = timeline->at((*frame)->index);
          const bool different = image::differs_for_schedules(announced, pipeline);
          if (different) announced = pipeline;
          auto changed = image::lay_out_frame(pipeline, layout->input, context.planes);
          if (!changed) {
            outcome = std::unexpected(changed.error());
            break;
          }
          if (adaptive)
            adaptive->scheduler().update(*changed, different);
          else
            context.executor.update(*changed);
        }
      }
      auto target = outputs.acquire();
      if (!target) {
        outcome = std::unexpected(target.error());
        break;
      }
      target->index = (*frame)->index;
      target->timestamp = (*frame)->timestamp;
      before.push_back(std::move(**frame));
      after.push_back(std::move(*target));
      tasks.push_back({views_of(before.back()), views_of(after.back())});
    }
    if (tasks.empty()) break;
    // What was read before an error is processed and written all the same.
    const Status done = adaptive ? adaptive->scheduler().run(tasks, seconds(now_ns() - first_in_ns))
                                 : context.executor.run(tasks);
    if (!done) {
      outcome = failure("frame {}: {}", before.front().index, done.error().message);
      break;
    }
    for (video::Frame& frame : after) {
      if (Status written = writer->write(std::move(frame)); !written) {
        outcome = written;
        break;
      }
      ++report.frames;
      if (report.frames == 1) report.first_frame_seconds = seconds(now_ns() - context.start_ns);
    }
    progress.update(report.frames, total, to_string(context.executor.in_use()));
  }
  progress.clear();
  if (adaptive) adaptive->finish(timeline->at(std::max<std::int64_t>(report.frames - 1, 0)), report);

  if (context.interrupt.requested()) {
    outcome = std::unexpected(
        Error{ErrorKind::interrupted,
              fmt::format("interrupted after {} frames; the output holds them", report.frames)});
  }
  if (outcome && report.frames == 0) outcome = failure("'{}' has no frames", options.input);
  if (report.frames > 0) {
    // Also after an error: a valid output up to there.
    if (Status finished = writer->finish(); !finished && outcome) outcome = finished;
    report.not_kept = writer->not_kept();
  }
  report.losses = input.losses();
  report.wall_seconds = seconds(now_ns() - loop_start);
  return outcome;
}

}  // namespace millrace::cli
