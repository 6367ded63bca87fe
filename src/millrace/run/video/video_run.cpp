#include "millrace/run/video/video_run.h"

#include "millrace/base/error/clock.h"
#include "millrace/run/video/frame_loop.h"

#include <algorithm>
#include <utility>

namespace millrace::run {

int most_frames_in_flight(const VideoRunOptions& options, int threads) {
  if (const auto* fixed = std::get_if<image::Schedule>(&options.schedule)) return fixed->frames_in_flight;
  const auto* search = std::get_if<SearchOptions>(&options.schedule);
  if (search == nullptr) return threads;
  const image::ScheduleFreedom& freedom = search->adaptive.freedom;
  if (freedom.frames_in_flight) return *freedom.frames_in_flight;
  return std::min({threads, freedom.max_frames_in_flight, freedom.threads.value_or(freedom.max_threads)});
}

VideoRun::VideoRun(ExecutionContext& context, VideoSource source, VideoSink sink, VideoRunOptions options)
    : context_(context), source_(std::move(source)), sink_(std::move(sink)), options_(std::move(options)) {}

Status VideoRun::run() {
  if (options_.start_ns == 0) options_.start_ns = now_ns();
  const std::stop_callback passed_on(options_.stop, [this] { stop(); });
  FrameLoop loop(context_, source_, sink_, options_, control_, record_);
  if (Status prepared = loop.prepare(); !prepared) return prepared;
  return loop.run();
}

}  // namespace millrace::run
