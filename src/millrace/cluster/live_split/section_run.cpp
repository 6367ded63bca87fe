#include "millrace/cluster/live_split/section_run.h"

#include "millrace/base/numbers/median.h"
#include "millrace/image/layout/default_schedule.h"
#include "millrace/image/pipeline/presets.h"
#include "millrace/run/options/run_options.h"
#include "millrace/run/video/video_run.h"

#include <algorithm>
#include <optional>
#include <random>
#include <utility>

namespace millrace::cluster {
namespace {

constexpr std::int64_t frames_to_measure = 7;

void fill_with_noise(const video::Frame& frame) {
  std::minstd_rand random(1);
  const auto most = static_cast<unsigned>((1 << frame.format().bits) - 1);
  for (int index = 0; index < frame.planes(); ++index) {
    const bool numbers =
        frame.format().forms.at(static_cast<std::size_t>(index)) == video::SampleForm::numbers;
    const video::PlaneView plane = frame.plane(index);
    for (int y = 0; y < plane.height; ++y)
      for (int x = 0; x < plane.width; ++x) {
        const auto sample = static_cast<unsigned>(random() >> 8) & most;
        if (numbers)
          plane.row<float>(y)[x] = static_cast<float>(sample) / static_cast<float>(most);
        else if (frame.format().bits > 8)
          plane.row<std::uint16_t>(y)[x] = static_cast<std::uint16_t>(sample);
        else
          plane.row<std::uint8_t>(y)[x] = static_cast<std::uint8_t>(sample);
      }
  }
}

}  // namespace

Result<std::unique_ptr<SectionRun>> SectionRun::open(const Assignment& assignment, const Options& options) {
  OutgoingLink::Options link;
  link.address.host = options.host;
  link.job = options.job;
  link.token = options.token;
  link.place = assignment.end;
  link.format = assignment.output;
  link.first = assignment.start;
  link.window = assignment.window;
  auto outgoing = OutgoingLink::open(std::move(link));
  if (!outgoing) return std::unexpected(outgoing.error());
  return std::unique_ptr<SectionRun>(new SectionRun(assignment, options, *std::move(outgoing)));
}

SectionRun::SectionRun(Assignment assignment, const Options& options, std::unique_ptr<OutgoingLink> outgoing)
    : assignment_(std::move(assignment)), no_profile_(options.no_profile),
      incoming_({.job = options.job,
                 .token = options.token,
                 .place = assignment_.first,
                 .format = assignment_.input,
                 .first = assignment_.start,
                 .on_linked = options.on_linked,
                 .on_trouble = options.on_trouble}),
      outgoing_(std::move(outgoing)) {}

void SectionRun::stop() {
  stop_.request_stop();
  incoming_.cancel();
  outgoing_->cancel();
}

Status SectionRun::run(run::ExecutionContext& context) {
  // Like a run between two pipes: optimised for latency. One frame at a time, so that a section never waits
  // for more frames than its filters read.
  run::RunOptions words;
  words.pipeline = assignment_.pipeline;
  words.input = words.output = "-";
  words.planes = assignment_.planes;
  words.frames_in_flight = 1;
  words.no_profile = no_profile_;
  const auto pipeline = image::load_pipeline(words.pipeline, stop_.get_token());
  if (!pipeline) return std::unexpected(pipeline.error());
  const auto planes = planes_of(words);
  if (!planes) return std::unexpected(planes.error());
  auto options = video_run_options_of(words, *pipeline, context.threads());
  if (!options) return std::unexpected(options.error());
  options->planes = *planes;
  options->made = assignment_.output.forms;
  options->around = {.before = static_cast<int>(assignment_.before),
                     .after = static_cast<int>(assignment_.after)};
  options->stop = stop_.get_token();
  const auto next = [this](const std::stop_token& stop) {
    const std::stop_callback no_more(stop, [this] { incoming_.cancel(); });
    return incoming_.next();
  };
  run::VideoRun video(context, run::frames_source(assignment_.input, next),
                      run::frames_sink([this](const video::Frame& frame) { return outgoing_->put(frame); }),
                      *std::move(options));
  return video.run();
}

Result<double> measure_section(run::ExecutionContext& context, const std::string& pipeline,
                               image::Planes planes, const video::FrameFormat& input,
                               const video::SampleForms& made, const std::stop_token& stop) {
  const auto loaded = image::load_pipeline(pipeline, stop);
  if (!loaded) return std::unexpected(loaded.error());
  video::FramePool pool(input);
  std::int64_t given = 0;
  std::vector<double> seconds;
  double before = 0;
  run::VideoRunOptions options{.pipeline = *loaded,
                               .planes = planes,
                               .made = made,
                               .schedule = image::default_schedule(context.threads(), machine::best_isa()),
                               .stop = stop};
  options.on_batch = [&](const run::RunSnapshot& snapshot) {
    seconds.push_back(snapshot.compute_seconds - before);
    before = snapshot.compute_seconds;
  };
  const auto next = [&](const std::stop_token&) -> Result<std::optional<video::Frame>> {
    if (given++ == frames_to_measure) return std::nullopt;
    auto frame = pool.acquire();
    if (!frame) return std::unexpected(frame.error());
    fill_with_noise(*frame);
    return std::optional(std::move(*frame));
  };
  run::VideoRun video(context, run::frames_source(input, next),
                      run::frames_sink([](const video::Frame&) { return Status(); }), std::move(options));
  if (Status done = video.run(); !done) return std::unexpected(done.error());
  return std::max(median(seconds), 1e-9);
}

}  // namespace millrace::cluster
