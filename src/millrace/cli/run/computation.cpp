#include "millrace/cli/run/computation.h"

#include "millrace/base/clock.h"
#include "millrace/base/json_file.h"
#include "millrace/base/print.h"
#include "millrace/image/execute/plane_buffer.h"
#include "millrace/image/reference/pixel_reads_report.h"

namespace millrace::cli {
namespace {

constexpr std::int64_t default_measured_frames = 16;

// A frame in memory: planes of floats in [0,1] and room for the result.
struct MeasuredFrame {
  std::vector<image::PlaneBuffer> sources;
  std::vector<image::PlaneBuffer> destinations;
  image::FrameTask task;
};

template <class Sample>
void load(const video::PlaneView& plane, float maximum, const image::PixelView& target) {
  for (int y = 0; y < plane.height; ++y) {
    const Sample* row = plane.row<Sample>(y);
    for (int x = 0; x < plane.width; ++x)
      target.pixel<float>(x, y) = static_cast<float>(row[x]) / maximum;
  }
}

MeasuredFrame preloaded(const video::Frame& frame, const image::FrameLayout& layout) {
  MeasuredFrame measured;
  const auto maximum = static_cast<float>((1 << frame.format().bits) - 1);
  for (std::size_t p = 0; p < layout.planes.size(); ++p) {
    const image::PlaneLayout& plane = layout.planes[p];
    measured.sources.emplace_back(plane.source.size, image::ElementType::f32);
    measured.destinations.emplace_back(plane.output.size, image::ElementType::f32);
    const video::PlaneView codes = frame.plane(static_cast<int>(p));
    const image::PixelView target = measured.sources.back().view();
    if (frame.format().bits > 8)
      load<std::uint16_t>(codes, maximum, target);
    else
      load<std::uint8_t>(codes, maximum, target);
  }
  for (const auto& buffer : measured.sources)
    measured.task.sources.push_back(buffer.view());
  for (const auto& buffer : measured.destinations)
    measured.task.destinations.push_back(buffer.view());
  return measured;
}

// An interrupt ends every wait for it.
Result<std::unique_ptr<video::FrameReader>> open_input(const RunContext& context) {
  const auto on_damage = on_damage_of(context.options);
  if (!on_damage) return std::unexpected(on_damage.error());
  return video::open_reader(context.options.input,
                            {.decoder_threads = context.options.decoder_threads.value_or(1),
                             .on_damage = *on_damage,
                             .stop = context.interrupt.token()});
}

Status measure(const RunContext& context, image::Executor& executor, const std::vector<MeasuredFrame>& frames,
               std::vector<double>& measured_ms) {
  // As many frames side by side as the schedule says. One pass before the clock starts touches all memory.
  const auto side_by_side = static_cast<std::size_t>(context.schedule.frames_in_flight);
  for (int repetition = -1; repetition < context.options.repeat && !context.interrupt.requested();
       ++repetition) {
    std::int64_t spent = 0;
    for (std::size_t f = 0; f < frames.size(); f += side_by_side) {
      std::vector<image::FrameTask> tasks;
      for (std::size_t i = f; i < std::min(f + side_by_side, frames.size()); ++i)
        tasks.push_back(frames[i].task);
      const std::int64_t start = now_ns();
      if (Status done = executor.run(tasks); !done) return done;
      spent += now_ns() - start;
    }
    if (repetition >= 0) measured_ms.push_back(1e3 * seconds(spent) / static_cast<double>(frames.size()));
  }
  if (context.interrupt.requested())
    return std::unexpected(Error{ErrorKind::interrupted, "interrupted while measuring"});
  return {};
}

}  // namespace

Status measure_run(const RunContext& context, RunReport& report) {
  if (context.options.output != "null")
    return usage_error("--measure times computation alone and writes nothing; leave out -o");
  auto reader = open_input(context);
  if (!reader) return std::unexpected(reader.error());
  const auto layout =
      image::lay_out_frame(context.pipeline, (*reader)->format(), context.planes, image::Samples::floats);
  if (!layout) return std::unexpected(layout.error());
  report.record.input_format = layout->input;
  report.record.output_format = layout->output;

  std::vector<MeasuredFrame> frames;
  while (static_cast<std::int64_t>(frames.size()) <
         context.options.frames.value_or(default_measured_frames)) {
    auto frame = (*reader)->next();
    if (!frame) return std::unexpected(frame.error());
    if (!*frame) break;
    frames.push_back(preloaded(**frame, *layout));
  }
  if (frames.empty()) return failure("'{}' has no frames", context.options.input);
  run::Workplace& workplace = context.workplace;
  image::Executor executor(workplace.pool(), workplace.library(), workplace.machine().topology,
                           workplace.machine().usable.cpus);
  if (Status set = executor.set(*layout, context.schedule); !set) return set;
  if (Status ready = executor.await_kernels(context.interrupt.token()); !ready) return ready;
  executor.time_stages_every(0);

  report.record.frames = static_cast<std::int64_t>(frames.size());
  const Status measured = measure(context, executor, frames, report.measured_ms);
  run::record_work(executor, workplace.library(), report.record);
  return measured;
}

Status count_run(const RunContext& context) {
  auto reader = open_input(context);
  if (!reader) return std::unexpected(reader.error());
  auto frame = (*reader)->next();
  if (!frame) return std::unexpected(frame.error());
  if (!*frame) return failure("'{}' has no frames", context.options.input);
  const auto layout =
      image::lay_out_frame(context.pipeline, (*reader)->format(), context.planes, image::Samples::floats);
  if (!layout) return std::unexpected(layout.error());
  const auto type = (*frame)->format().bits > 8 ? image::ElementType::u16 : image::ElementType::u8;
  image::ScalarImage luma = image::scalar_image((*frame)->plane(0), type);
  const auto maximum = static_cast<float>((1 << (*frame)->format().bits) - 1);
  for (float& value : luma.pixels)
    value /= maximum;
  const image::PixelReads counted = image::count_pixel_reads(layout->planes[0], luma);
  if (!context.options.json.empty())
    return write_json(image::to_json(counted), context.options.json, overwrite_if(context.options.force));
  print_out("{}", image::to_text(counted));
  return {};
}

}  // namespace millrace::cli
