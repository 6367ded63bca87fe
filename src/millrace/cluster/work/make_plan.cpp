#include "millrace/cluster/work/make_plan.h"

#include "millrace/base/text/in_quotes.h"
#include "millrace/cluster/plan/digest.h"
#include "millrace/image/layout/frame_layout.h"
#include "millrace/image/pipeline/parameter_timeline.h"
#include "millrace/image/pipeline/presets.h"
#include "millrace/run/video/pipeline_effects.h"
#include "millrace/run/video/video_run.h"
#include "millrace/version.h"
#include "millrace/video/frame/own_duration.h"
#include "millrace/video/packet_index.h"
#include "millrace/video/reader.h"
#include "millrace/video/test_source.h"
#include "millrace/video/writer.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <memory>
#include <numeric>
#include <ranges>
#include <utility>

namespace millrace::cluster {
namespace {

using video::FrameReader;

// Number of frames decoded to verify the packets.
constexpr int frames_to_compare = 48;

struct Frames {
  FrameList list = FrameList::packets;
  std::int64_t count = 0;
  std::vector<std::int64_t> times;
  std::vector<std::int64_t> keys;
  std::optional<std::int64_t> last_duration;  // of the last frame, if it is not one frame duration
};

bool is_generated(const std::string& input) { return input.starts_with(video::test_source_prefix); }

// Other inputs consist of many files.
bool is_file(const std::string& input) {
  std::error_code ignored;
  return !is_generated(input) && std::filesystem::is_regular_file(input, ignored);
}

Result<std::unique_ptr<FrameReader>> open(const run::RunOptions& options, const std::stop_token& stop) {
  auto run = run::video_run_options_of(options, {}, 1);
  if (!run) return std::unexpected(run.error());
  return video::open_reader(options.input,
                            {.samples = run->samples, .autorotate = run->autorotate, .stop = stop});
}

Status check_input(const std::string& input) {
  if (input == "-") return usage_error("standard input cannot be cut into chunks; give a file");
  std::error_code ignored;
  if (std::filesystem::exists(input, ignored) && !is_file(input))
    return usage_error("{}: is not a regular file, so it cannot be divided into chunks", input);
  return {};
}

// The times of the frames that the packets announce. Empty if the packets do not tell.
std::optional<std::vector<std::int64_t>> announced_times(const video::PacketIndex& index,
                                                         std::int64_t first) {
  if (!index.has_times()) return std::nullopt;
  std::vector<std::int64_t> times;
  for (const video::IndexedPacket& packet : index.packets)
    if (!packet.discarded && *packet.shown >= first) times.push_back(*packet.shown);
  std::ranges::sort(times);
  return times;
}

std::vector<std::int64_t> keys_among(const video::PacketIndex& index,
                                     const std::vector<std::int64_t>& times) {
  std::vector<std::int64_t> keys;
  for (const video::IndexedPacket& packet : index.packets) {
    if (!packet.key || !packet.shown) continue;
    const auto found = std::ranges::lower_bound(times, *packet.shown);
    if (found != times.end() && *found == *packet.shown) keys.push_back(found - times.begin());
  }
  std::ranges::sort(keys);
  keys.erase(std::ranges::unique(keys).begin(), keys.end());
  return keys;
}

// The next frames, at most `most`, with their times if all have one.
struct Sample {
  std::int64_t count = 0;
  bool timed = true;
  std::vector<std::int64_t> times;
  bool ended = false;
  std::optional<std::int64_t> last_duration;  // own_duration() of the last one
};

Result<Sample> read_times(FrameReader& reader, std::int64_t most, const std::stop_token& stop) {
  Sample sample{.timed = reader.format().has_timestamps()};
  while (sample.count < most) {
    if (stop.stop_requested()) return std::unexpected(Error{ErrorKind::interrupted, "interrupted"});
    const auto frame = reader.next();
    if (!frame) return std::unexpected(frame.error());
    if (!*frame) {
      sample.ended = true;
      return sample;
    }
    ++sample.count;
    if (!(*frame)->timestamp) sample.timed = false;
    if (sample.timed) sample.times.push_back(*(*frame)->timestamp);
    sample.last_duration = video::own_duration(**frame);
  }
  return sample;
}

bool confirms(const Sample& decoded, const std::vector<std::int64_t>& announced) {
  if (!decoded.timed || decoded.times.size() > announced.size()) return false;
  if (decoded.ended && decoded.times.size() != announced.size()) return false;
  return std::ranges::equal(decoded.times, announced | std::views::take(decoded.times.size()));
}

Result<Frames> decode_all(FrameReader& reader, const Sample& begun, const video::PacketIndex& index,
                          const run::RunOptions& options, const std::stop_token& stop) {
  auto rest = read_times(reader, std::numeric_limits<std::int64_t>::max(), stop);
  if (!rest) return std::unexpected(rest.error());
  Frames frames{.list = FrameList::decoded,
                .count = begun.count + rest->count,
                .last_duration = rest->count > 0 ? rest->last_duration : begun.last_duration};
  if (begun.timed && rest->timed) {
    frames.times = begun.times;
    frames.times.insert(frames.times.end(), rest->times.begin(), rest->times.end());
    frames.keys = keys_among(index, frames.times);
  } else if (reader.format().has_timestamps()) {
    return usage_error(
        "{}: not every frame says when it is shown, so that it cannot be cut; convert it first",
        options.input);
  }
  return frames;
}

// The duration of the last frame, found by decoding from the last key frame. Damage is left to the chunks.
std::optional<std::int64_t> decode_last(FrameReader& reader, const Frames& frames,
                                        const std::stop_token& stop) {
  if (frames.keys.empty() || !reader.seek(frames.times[static_cast<std::size_t>(frames.keys.back())]))
    return std::nullopt;
  const auto end = read_times(reader, std::numeric_limits<std::int64_t>::max(), stop);
  const bool found = end && end->timed && !end->times.empty() && end->times.back() == frames.times.back();
  return found ? end->last_duration : std::nullopt;
}

Result<Frames> list_frames(FrameReader& reader, const run::RunOptions& options, const std::stop_token& stop) {
  video::PacketIndex index;
  const bool coded = video::is_coded_input(options.input) && is_file(options.input);
  if (coded) {
    auto indexed = video::index_packets(options.input, stop);
    if (!indexed) return std::unexpected(indexed.error());
    index = std::move(*indexed);
  } else if (!reader.frame_count_hint()) {
    return usage_error(
        "{}: has no end, so that it cannot be cut; say how many frames, as in test:640x360@500",
        options.input);
  }
  const auto sample = read_times(reader, frames_to_compare, stop);
  if (!sample) return std::unexpected(sample.error());
  if (coded && sample->timed && sample->count > 0) {
    auto announced = announced_times(index, sample->times.front());
    if (announced && confirms(*sample, *announced)) {
      Frames frames{.count = std::ssize(*announced), .keys = keys_among(index, *announced)};
      frames.times = std::move(*announced);
      frames.last_duration = sample->ended ? sample->last_duration : decode_last(reader, frames, stop);
      return frames;
    }
  }
  return decode_all(reader, *sample, index, options, stop);
}

// Parts are .mkv files, which distinguish frames by milliseconds.
Status check_times(const Frames& frames, const video::FrameFormat& format, const std::string& input) {
  for (std::size_t i = 1; i < frames.times.size(); ++i) {
    const double apart = static_cast<double>(frames.times[i] - frames.times[i - 1]) *
                         format.time_base_numerator / format.time_base_denominator;
    if (apart < 0.00101)
      return usage_error(
          "{}: frames {} and {} are shown less than a millisecond apart, which parts cannot hold", input,
          i - 1, i);
  }
  return {};
}

std::int64_t units_of(double length, const video::FrameFormat& format) {
  const double unit = format.has_timestamps()
                          ? static_cast<double>(format.time_base_numerator) / format.time_base_denominator
                          : static_cast<double>(format.rate_denominator) / format.rate_numerator;
  return std::max<std::int64_t>(1, std::llround(length / unit));
}

}  // namespace

Result<JobFrames> look_at_input(const run::RunOptions& options, const std::stop_token& stop) {
  auto pipeline = image::load_pipeline(options.pipeline, stop);
  if (!pipeline) return std::unexpected(pipeline.error());
  if (image::reads_second(*pipeline))
    return usage_error("a pipeline that reads a second video cannot be cut; give it to `millrace run`");
  const auto planes = planes_of(options);
  if (!planes) return std::unexpected(planes.error());
  const auto reader = open(options, stop);
  if (!reader) return std::unexpected(reader.error());
  video::FrameFormat input = (*reader)->format();
  if (options.treat_as_progressive) input.field_order = video::FieldOrder::progressive;
  if (Status fields = run::check_fields(*pipeline, input, options.input); !fields)
    return std::unexpected(fields.error());
  const auto layout = image::lay_out_frame(*pipeline, input, *planes);
  if (!layout) return std::unexpected(layout.error());
  video::SharedProperties properties = run::after_pipeline((*reader)->properties(), *pipeline);
  return JobFrames{.pipeline = *std::move(pipeline),
                   .planes = *planes,
                   .input = layout->input,
                   .output = layout->output,
                   .neighbours = layout->neighbours(),
                   .properties = std::move(properties)};
}

Result<JobPlan> make_plan(const run::RunOptions& asked, double chunk_seconds, const std::stop_token& stop,
                          const std::function<Status()>& check_output) {
  if (const auto known = image::load_pipeline(asked.pipeline, stop); !known)
    return std::unexpected(known.error());
  if (Status possible = check_input(asked.input); !possible) return std::unexpected(possible.error());
  run::RunOptions options = asked;
  if (!options.encoder_threads) options.encoder_threads = usual_encoder_threads;
  const auto job = look_at_input(options, stop);
  if (!job) return std::unexpected(job.error());
  // The plan must mean the same on every machine, whatever files it has.
  options.pipeline = image::to_string(job->pipeline);
  auto run = run::video_run_options_of(options, job->pipeline, 1);
  if (!run) return std::unexpected(run.error());
  if (const auto timeline = image::ParameterTimeline::make(job->pipeline, options.changes); !timeline)
    return std::unexpected(timeline.error());
  run->writer.encoder_threads = *options.encoder_threads;
  const auto coded = video::check_writer("part.mkv", job->output, run->writer);
  if (!coded) return std::unexpected(coded.error());
  // By name, so that a machine with another FFmpeg does not choose a different one.
  options.codec = coded->codec;

  if (check_output)
    if (Status possible = check_output(); !possible) return std::unexpected(possible.error());
  auto reader = open(options, stop);
  if (!reader) return std::unexpected(reader.error());
  const video::FrameFormat format = (*reader)->format();
  auto frames = list_frames(**reader, options, stop);
  if (!frames) return std::unexpected(frames.error());
  if (frames->count == 0)
    return failure("{}: contains no frames; give a file with video in it", options.input);
  if (Status possible = check_times(*frames, format, options.input); !possible)
    return std::unexpected(possible.error());

  JobPlan plan{.version = MILLRACE_VERSION,
               .input = options.input,
               .options = options,
               .chunk_seconds = chunk_seconds,
               .list = frames->list,
               .frames = frames->count,
               .rate_numerator = format.rate_numerator,
               .rate_denominator = format.rate_denominator};
  plan.warning = coded->fallback;
  if (is_file(options.input)) {
    const auto bytes = sampled_digest_of_file(options.input);
    if (!bytes) return std::unexpected(bytes.error());
    plan.input_bytes = bytes->bytes;
    plan.input_digest = bytes->digest;
  }
  if (!is_generated(options.input)) plan.input = std::filesystem::absolute(options.input).lexically_normal();
  plan.options.input = plan.input;
  std::vector<std::int64_t> counted;
  if (!frames->times.empty()) {
    plan.time_base_numerator = format.time_base_numerator;
    plan.time_base_denominator = format.time_base_denominator;
    plan.times = std::move(frames->times);
    plan.last_duration = frames->last_duration;
  } else {
    counted.resize(static_cast<std::size_t>(frames->count));
    std::iota(counted.begin(), counted.end(), 0);
  }
  plan.chunks = cut_chunks(plan.has_times() ? plan.times : counted, frames->keys,
                           units_of(chunk_seconds, format), job->neighbours);
  plan.id = digest_of(plan);
  return plan;
}

}  // namespace millrace::cluster
