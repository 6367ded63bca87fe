#include "millrace/cluster/live_split/split_head.h"

#include "millrace/base/error/clock.h"
#include "millrace/base/error/without_exceptions.h"
#include "millrace/base/numbers/counted.h"
#include "millrace/cluster/live_split/incoming_link.h"
#include "millrace/cluster/live_split/outgoing_link.h"
#include "millrace/image/pipeline/presets.h"
#include "millrace/run/video/codec_threads.h"
#include "millrace/run/video/pipeline_effects.h"
#include "millrace/video/frame/frame_fields.h"
#include "millrace/video/overlap/overlapped_writer.h"
#include "millrace/video/reader.h"
#include "millrace/video/writer.h"

#include <algorithm>
#include <deque>
#include <filesystem>
#include <iterator>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>
#include <tuple>
#include <utility>

namespace millrace::cluster {
namespace {

// Frames in flight in addition to the filters' neighbours: some for every link and section.
constexpr std::int64_t frames_under_way = 16;

// The properties of a frame other than its samples. They stay here while the samples travel.
struct Beside {
  std::optional<std::int64_t> timestamp;
  video::SharedProperties properties;
};

class SplitHead {
 public:
  SplitHead(const SplitOptions& options, SplitRecord& record) : options_(options), record_(record) {}

  [[nodiscard]] Status prepare() {
    auto pipeline = image::load_pipeline(options_.run.pipeline, options_.stop);
    if (!pipeline) return std::unexpected(pipeline.error());
    pipeline_ = *std::move(pipeline);
    if (image::reads_second(pipeline_))
      return usage_error("a pipeline that reads a second video cannot be cut; give it to `millrace run`");
    const auto planes = planes_of(options_.run);
    if (!planes) return std::unexpected(planes.error());
    planes_ = *planes;
    auto words = video_run_options_of(options_.run, pipeline_, options_.worker_limit);
    if (!words) return std::unexpected(words.error());
    const bool decodes = video::is_coded_input(options_.run.input);
    const bool encodes = video::is_coded_output(options_.run.output);
    const run::CodecThreads threads = run::choose_codec_threads(options_.worker_limit, decodes, encodes);
    if (decodes && video::takes_side_streams(options_.run.output))
      side_ = video::make_side_streams(words->audio, {}, options_.run.output);
    auto reader = video::open_reader(options_.run.input,
                                     {.decoder_threads = words->decoder_threads.value_or(threads.decoder),
                                      .on_damage = words->on_damage,
                                      .samples = words->samples,
                                      .autorotate = words->autorotate,
                                      .side_streams = side_,
                                      .stop = options_.stop});
    if (!reader) return std::unexpected(reader.error());
    reader_ = *std::move(reader);
    if (Status possible = lay_out(); !possible) return possible;
    if (options_.check_output)
      if (Status possible = options_.check_output(); !possible) return possible;
    video::WriterOptions writer = words->writer;
    writer.encoder_threads = words->encoder_threads.value_or(threads.encoder);
    writer.stop = options_.stop;
    writer.side_streams = side_;
    writer.properties = run::after_pipeline(reader_->properties(), pipeline_);
    auto opened = video::open_writer(options_.run.output, output_, writer);
    if (!opened) return std::unexpected(opened.error());
    if (const video::WrittenAs as = (*opened)->written_as(); !as.fallback.empty() && options_.on_note)
      options_.on_note(as.fallback);
    writer_ = std::make_unique<video::OverlappedWriter>(*std::move(opened));
    return {};
  }

  [[nodiscard]] Status run(Descriptor listener) {
    around_ = image::neighbours_of(pipeline_);
    const std::int64_t window = frames_under_way + around_.before + around_.after;
    OutgoingLink::Options sending;
    sending.address.host = options_.host;
    sending.job = options_.job;
    sending.token = options_.token;
    sending.format = input_;
    sending.window = window;
    auto source = OutgoingLink::open(std::move(sending));
    if (!source) return std::unexpected(source.error());
    OutgoingLink& link = **source;
    IncomingLink results(
        {.job = options_.job,
         .token = options_.token,
         .place = static_cast<int>(pipeline_.nodes.size()),
         .format = output_,
         .on_trouble = [&](const Endpoint& at, const std::string& why) { hub_->output_trouble(at, why); }});
    SplitHub hub(std::move(listener), {.job = options_.job,
                                       .token = options_.token,
                                       .nodes = options_.nodes,
                                       .wish = std::move(wish_),
                                       .pieces = std::move(pieces_),
                                       .window = window,
                                       .patience = options_.patience,
                                       .source_port = link.port(),
                                       .on_output = [&](const Endpoint& at) { results.set_producer(at); },
                                       .on_written = [&](std::int64_t frames) { link.release(frames); },
                                       .on_failure = [&] { results.cancel(); },
                                       .on_note = options_.on_note});
    hub_ = &hub;
    const std::stop_callback stopped(options_.stop, [&] { results.cancel(); });
    Status pumped;
    std::thread pump([&] {
      pumped = without_exceptions([&] {
        const std::int64_t frames = send_all(link);
        hub.end_at(frames);
        results.end_at(frames);
        return Status();
      });
      if (!pumped) results.cancel();
    });
    Status outcome = without_exceptions([&] { return write_all(results, hub); });
    link.cancel();
    reader_->cancel();
    pump.join();
    record_.posts = hub.posts();
    record_.replaced = hub.replaced();
    if (!pumped) outcome = std::unexpected(pumped.error());
    if (!outcome && hub.error()) outcome = std::unexpected(*hub.error());
    if (options_.stop.stop_requested())
      outcome = std::unexpected(
          Error{ErrorKind::interrupted,
                fmt::format("interrupted after {}; {}", counted(record_.frames, "frame"),
                            record_.frames == 0 ? "there is no output" : "the output holds them")});
    if (outcome && !source_status_) outcome = source_status_;
    return finish(std::move(outcome));
  }

 private:
  [[nodiscard]] Status lay_out() {
    input_ = reader_->format();
    if (options_.run.treat_as_progressive) input_.field_order = video::FieldOrder::progressive;
    if (Status fields = run::check_fields(pipeline_, input_, options_.run.input); !fields) return fields;
    const std::pair time_base{input_.time_base_numerator, input_.time_base_denominator};
    input_.time_base_numerator = 0;
    input_.time_base_denominator = 1;
    wish_ = {.pipeline = pipeline_,
             .planes = planes_,
             .input = input_,
             .rate = options_.rate > 0 ? options_.rate
                                       : static_cast<double>(input_.rate_numerator) / input_.rate_denominator,
             .sections = options_.sections,
             .link_bytes = options_.link_bytes};
    auto pieces = pieces_of(wish_);
    if (!pieces) return std::unexpected(pieces.error());
    pieces_ = *std::move(pieces);
    output_ = pieces_.pieces.back().output;
    std::tie(output_.time_base_numerator, output_.time_base_denominator) = time_base;
    return {};
  }

  // Runs on a thread of its own. Sends all frames, and the first and last again for each frame that filters
  // read beyond them. Returns the number of frames of the video.
  [[nodiscard]] std::int64_t send_all(OutgoingLink& link) {
    std::int64_t frames = 0;
    video::Frame last;
    while (true) {
      auto frame = reader_->next();
      if (!frame) source_status_ = std::unexpected(frame.error());
      if (!frame || !*frame) break;
      if (!options_.run.treat_as_progressive)
        source_status_ = run::check_frame_fields(pipeline_, input_, **frame, options_.run.input);
      if (!source_status_) break;
      {
        const std::scoped_lock lock(mutex_);
        beside_.push_back({(*frame)->timestamp, video::without_fields((*frame)->properties)});
      }
      last = std::move(**frame);
      if (frames == 0 && !put(link, last, around_.before)) return frames;
      if (!put(link, last, 1)) return frames;
      ++frames;
    }
    if (frames > 0) static_cast<void>(put(link, last, around_.after));
    return frames;
  }

  [[nodiscard]] static Status put(OutgoingLink& link, const video::Frame& frame, int times) {
    for (int i = 0; i < times; ++i)
      if (Status done = link.put(frame); !done) return done;
    return {};
  }

  [[nodiscard]] Status write_all(IncomingLink& results, SplitHub& hub) {
    const auto total = reader_->frame_count_hint();
    std::int64_t first_ns = 0;
    while (true) {
      auto frame = results.next();
      if (!frame) return std::unexpected(frame.error());
      if (!*frame) return {};
      if (first_ns == 0) first_ns = now_ns();
      {
        const std::scoped_lock lock(mutex_);
        if (beside_.empty())
          return failure(
              "the last node sends frame {}, which '{}' does not have; are all nodes of this build?",
              record_.frames, options_.run.input);
        (*frame)->timestamp = beside_.front().timestamp;
        (*frame)->properties = std::move(beside_.front().properties);
        beside_.pop_front();
      }
      if (Status written = writer_->write(*std::move(*frame)); !written) return written;
      hub.written(++record_.frames);
      record_.seconds = seconds(now_ns() - first_ns);
      if (options_.on_progress) options_.on_progress(record_.frames, total);
    }
  }

  [[nodiscard]] Status finish(Status outcome) {
    if (outcome && record_.frames == 0) outcome = failure("'{}' has no frames", options_.run.input);
    if (record_.frames == 0) return outcome;
    if (!outcome && side_) video::end_with_frames(*side_);
    const Status finished = writer_->finish();
    record_.not_kept = reader_->unread();
    std::ranges::copy(writer_->not_kept(), std::back_inserter(record_.not_kept));
    record_.written_as = writer_->written_as();
    return outcome ? finished : outcome;
  }

  const SplitOptions& options_;
  SplitRecord& record_;
  image::Pipeline pipeline_;
  image::Planes planes_ = image::Planes::automatic;
  image::NeighbouringFrames around_;
  std::shared_ptr<video::SideStreams> side_;
  std::unique_ptr<video::FrameReader> reader_;
  video::FrameFormat input_;   // without times
  video::FrameFormat output_;  // with those of the input
  SplitWish wish_;
  SplitPieces pieces_;
  SplitHub* hub_ = nullptr;  // set while frames are in flight
  std::unique_ptr<video::OverlappedWriter> writer_;
  std::mutex mutex_;
  std::deque<Beside> beside_;  // of the frames in flight
  Status source_status_;       // of the reading thread; valid after it was joined
};

}  // namespace

Status run_split(Descriptor listener, const SplitOptions& options, SplitRecord& record) {
  SplitHead head(options, record);
  if (Status possible = head.prepare(); !possible) return possible;
  return head.run(std::move(listener));
}

bool is_anywhere(const std::string& input) {
  std::error_code ignored;
  return input != "-" && std::filesystem::is_regular_file(input, ignored);
}

}  // namespace millrace::cluster
