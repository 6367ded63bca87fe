#include "millrace/cli/run/computation.h"

#include "millrace/base/error/clock.h"
#include "millrace/base/file/json_file.h"
#include "millrace/base/text/in_quotes.h"
#include "millrace/base/text/print.h"
#include "millrace/image/reference/pixel_reads_report.h"
#include "millrace/run/options/check_outputs.h"
#include "millrace/run/video/computation.h"

#include <string_view>
#include <utility>

namespace millrace::cli {
namespace {

constexpr std::int64_t default_measured_frames = 16;

// An interrupt ends every wait for the input.
Result<std::unique_ptr<video::FrameReader>> open_input(const RunRequest& request) {
  const auto on_damage = on_damage_of(request.options);
  if (!on_damage) return std::unexpected(on_damage.error());
  return video::open_reader(request.options.input,
                            {.decoder_threads = request.options.decoder_threads.value_or(1),
                             .on_damage = *on_damage,
                             .stop = request.interrupt.token()});
}

// Processes the frames in memory repeatedly.
Status measure(const RunRequest& request, run::Computation& computation, std::int64_t frames,
               run::RunReport& report) {
  const std::int64_t start = now_ns();
  for (int repetition = 0; repetition < request.options.repeat && !request.interrupt.requested();
       ++repetition) {
    const auto seconds = computation.process(frames, request.interrupt.token());
    if (!seconds && seconds.error().kind == ErrorKind::interrupted) break;
    if (!seconds) return std::unexpected(seconds.error());
    report.measured->ms_per_frame.push_back(1e3 * *seconds / static_cast<double>(frames));
  }
  report.record.wall_seconds = seconds(now_ns() - start);
  if (request.interrupt.requested())
    return std::unexpected(Error{ErrorKind::interrupted, "interrupted while measuring"});
  return {};
}

}  // namespace

Status check_computation(const run::RunOptions& options) {
  if (options.fresh_input && !options.measure)
    return usage_error("--fresh-input needs --measure; add it, or leave --fresh-input out");
  if (!options.measure && !options.count) return {};
  const std::string_view mode = options.measure ? "--measure" : "--count";
  if (options.measure && options.count)
    return usage_error("--measure and --count exclude each other; leave one out");
  if (!options.second.empty())
    return usage_error("{} works on one video; leave out {}", mode, in_quotes(options.second));
  if (!options.output.empty() && options.output != "null")
    return usage_error("{} writes no video; leave out -o", mode);
  if (options.count && !options.report.empty())
    return usage_error("--count prints its result and makes no report; leave out --report");
  for (const auto& [option, given] : {std::pair{"--at", !options.changes.empty()},
                                      {"--start", !options.start.empty()},
                                      {"--end", !options.end.empty()},
                                      {"--loop", options.loop > 1},
                                      {"--format", !options.format.empty()},
                                      {"--objective", !options.objective.empty()},
                                      {"--deadline", options.deadline_ms.has_value()},
                                      {"--trace", !options.trace.empty()},
                                      {"--live", options.live}})
    if (given) return usage_error("{} and {} exclude each other; leave one out", option, mode);
  return {};
}

Status measure_run(const RunRequest& request, run::RunReport& report) {
  auto reader = open_input(request);
  if (!reader) return std::unexpected(reader.error());
  auto layout =
      image::lay_out_frame(request.pipeline, (*reader)->format(), request.planes, image::Samples::floats);
  if (!layout) return std::unexpected(layout.error());
  if (Status possible = check_outputs(request.options); !possible) return possible;
  const auto pixels = request.options.fresh_input ? run::InputPixels::fresh : run::InputPixels::preloaded;
  const auto frames = run::read_frames(**reader, request.options.frames.value_or(default_measured_frames),
                                       request.options.input, pixels);
  if (!frames) return std::unexpected(frames.error());
  run::Computation computation(request.context, *frames, std::move(*layout), pixels);
  if (Status ready = computation.use(request.schedule, request.interrupt.token()); !ready) return ready;
  computation.start_counting();
  report.measured = {.frames_in_memory = std::ssize(*frames), .input_pixels = pixels};
  const Status measured = measure(request, computation, std::ssize(*frames), report);
  computation.record(report.record);
  if (report.measured->ms_per_frame.empty()) report.record.frames = 0;  // interrupted in the first repetition
  report.measured->written_on = computation.written_on();
  return measured;
}

Status count_run(const RunRequest& request) {
  auto reader = open_input(request);
  if (!reader) return std::unexpected(reader.error());
  auto frame = (*reader)->next();
  if (!frame) return std::unexpected(frame.error());
  if (!*frame) return failure("{}: has no frames; give a video with at least one", request.options.input);
  const auto layout =
      image::lay_out_frame(request.pipeline, (*reader)->format(), request.planes, image::Samples::floats);
  if (!layout) return std::unexpected(layout.error());
  if (Status possible = check_outputs(request.options); !possible) return possible;
  const auto type = (*frame)->format().bits > 8 ? image::ElementType::u16 : image::ElementType::u8;
  image::ScalarImage luma = image::scalar_image((*frame)->plane(0), type);
  const auto maximum = static_cast<float>((1 << (*frame)->format().bits) - 1);
  for (float& value : luma.pixels)
    value /= maximum;
  const image::PixelReads counted = image::count_pixel_reads(layout->planes[0], luma);
  if (!request.options.json.empty())
    return write_json(image::to_json(counted), request.options.json, overwrite_if(request.options.force));
  print_out("{}", image::to_text(counted));
  return {};
}

}  // namespace millrace::cli
