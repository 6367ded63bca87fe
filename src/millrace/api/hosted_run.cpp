#include "millrace/api/hosted_run.h"

#include "millrace/api/option_words.h"
#include "millrace/api/signals_blocked.h"
#include "millrace/base/error/without_exceptions.h"
#include "millrace/run/options/check_outputs.h"
#include "millrace/run/options/run_report.h"
#include "millrace/video/reader.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include <nlohmann/json.hpp>

namespace millrace::api {
namespace {

constexpr std::string_view own_frames = "frames of the caller";

Error stopped_error() { return {ErrorKind::interrupted, "the run was stopped"}; }

// Whether an input may have other streams and can be opened again to read them.
bool has_other_streams(const std::string& input) {
  std::error_code unknown;
  return video::is_coded_input(input) && std::filesystem::is_regular_file(input, unknown);
}

Status check_name(std::string_view name, std::string_view what) {
  if (name.empty()) return usage_error("the name of the {} is empty", what);
  if (name == "-")
    return usage_error("a run of the library has no standard {}; hand its frames over instead", what);
  return {};
}

}  // namespace

class HostedRun::Turn {
 public:
  explicit Turn(std::atomic<bool>& taken)
      : taken_(taken), mine_(!taken.exchange(true, std::memory_order_acq_rel)) {}
  ~Turn() {
    if (mine_) taken_.store(false, std::memory_order_release);
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
  [[nodiscard]] bool mine() const { return mine_; }

 private:
  std::atomic<bool>& taken_;
  bool mine_;
};

Status HostedRun::check_not_started() const {
  if (started_) return usage_error("the run has been started; say this before, to another run");
  return {};
}

Status HostedRun::check_started() const {
  if (!started_) return usage_error("the run has not been started");
  return {};
}

Status HostedRun::check_over() const {
  if (Status started = check_started(); !started) return started;
  if (!over_) return usage_error("the run is not over; wait for it first");
  return {};
}

Status HostedRun::set(std::string_view name, std::string_view value) {
  const std::scoped_lock lock(mutex_);
  if (Status early = check_not_started(); !early) return early;
  return set_option(options_, name, value);
}

Status HostedRun::input(std::string name) {
  const std::scoped_lock lock(mutex_);
  if (Status early = check_not_started(); !early) return early;
  if (Status named = check_name(name, "input"); !named) return named;
  input_.reset();
  options_.input = std::move(name);
  return {};
}

Status HostedRun::input_frames(const video::FrameFormat& format) {
  const std::scoped_lock lock(mutex_);
  if (Status early = check_not_started(); !early) return early;
  input_ = std::make_unique<InputFrames>(format);
  input_origin_ = {};
  options_.input = own_frames;
  return {};
}

Status HostedRun::input_frames_like(const Origin& origin) {
  if (Status set = input_frames(origin.format); !set) return set;
  const std::scoped_lock lock(mutex_);
  input_origin_ = origin.beside;
  return {};
}

Status HostedRun::output(std::string name) {
  const std::scoped_lock lock(mutex_);
  if (Status early = check_not_started(); !early) return early;
  if (Status named = check_name(name, "output"); !named) return named;
  output_.reset();
  options_.output = std::move(name);
  return {};
}

Status HostedRun::output_frames() {
  const std::scoped_lock lock(mutex_);
  if (Status early = check_not_started(); !early) return early;
  output_ = std::make_unique<OutputFrames>();
  options_.output = own_frames;
  return {};
}

Status HostedRun::check_files() const {
  if (output_ || options_.output == "null") return {};
  std::error_code unknown;
  if (!options_.force && std::filesystem::is_regular_file(options_.output, unknown))
    return usage_error("{}: exists; set the option force to \"true\" to replace it", options_.output);
  return run::check_outputs(options_);
}

Result<run::VideoRunOptions> HostedRun::run_options() {
  const machine::MachineReport& machine = place_->machine;
  const run::WorkerLimit limit(machine.topology, machine.usable, place_->context->threads());
  run::RunOptions words = options_;
  // The caller may want a frame's result before it pushes the next one.
  if ((input_ || output_) && words.frames_in_flight == 0) words.frames_in_flight = 1;
  if (words.second == "-") return usage_error("option second is the name of a video, not standard input");
  const auto planes = run::planes_of(words);
  if (!planes) return std::unexpected(planes.error());
  auto options = run::video_run_options_of(words, pipeline_, limit);
  if (!options) return options;
  options->planes = *planes;
  if (auto* search = std::get_if<run::SearchOptions>(&options->schedule))
    search->may_bind = false;  // workers are shared
  if (input_) {
    if (options->passes > 1)
      return usage_error("frames that are handed over come once; leave out the option loop");
    // The format of a second video is known only when it is opened.
    const auto layout = image::lay_out_frame(pipeline_, input_->format(), *planes);
    if (!layout && !options->second) return std::unexpected(layout.error());
  }
  return options;
}

run::VideoSource HostedRun::source() {
  if (!input_) return run::file_source(options_.input);
  return run::frames_source(
      input_->format(), [this](const std::stop_token& stop) { return input_->next(stop); }, std::nullopt,
      input_origin_);
}

run::VideoSink HostedRun::sink() {
  run::VideoSink sink = output_
                            ? run::frames_sink([this](video::Frame& frame) { return output_->offer(frame); })
                            : run::file_sink(options_.output);
  sink.open = [this, open = std::move(sink.open)](const video::FrameFormat& format,
                                                  const video::WriterOptions& options) {
    auto opened = open(format, options);
    if (opened) {
      const std::scoped_lock lock(mutex_);
      output_format_ = format;
      output_properties_ = options.properties;
      changed_.notify_all();
    }
    return opened;
  };
  return sink;
}

Status HostedRun::check_start() const {
  if (freed_) return usage_error("the run was freed by another thread; make another");
  if (started_) return usage_error("the run has been started already; make another");
  if (options_.input.empty()) return usage_error("the run has no input; name one, or hand over frames");
  return {};
}

Status HostedRun::find_place() {
  const SignalsBlocked blocked;
  auto place = shared_context();
  if (!place) return std::unexpected(place.error());
  place_ = std::move(*place);
  return {};
}

Status HostedRun::start_in_place() {
  const std::scoped_lock lock(mutex_);
  if (Status possible = check_start(); !possible) return possible;
  if (!input_ || !output_)
    return usage_error(
        "a run in place takes frames and gives frames; set both ends so, or start it otherwise");
  if (Status found = find_place(); !found) return found;
  auto options = run_options();
  if (!options) return std::unexpected(options.error());
  if (options->frames || options->start || options->end || options->samples)
    return usage_error(
        "a run in place processes each frame that it is given, as it is; leave out the options "
        "frames, start, end and format");
  options->stop = in_place_stop_.get_token();
  options->made = input_->format().forms;
  auto processor = run::FrameProcessor::start(*place_->context, input_->format(), std::move(*options));
  if (!processor) return std::unexpected(processor.error());
  in_place_ = std::move(*processor);
  output_format_ = in_place_->output_format();
  started_ = true;
  return {};
}

Status HostedRun::check_not_in_place() const {
  if (in_place_) return usage_error("the run was started in place; its frames are processed one by one");
  return {};
}

Status HostedRun::process(const std::vector<image::PixelView>& from,
                          const std::vector<image::PixelView>& to) {
  const std::unique_lock processing(processing_, std::try_to_lock);
  {
    const std::scoped_lock lock(mutex_);
    if (!processing.owns_lock()) {
      // A thread that stops the run also holds the turn for a moment.
      if (stopped_) return std::unexpected(stopped_error());
      return usage_error("another thread is handing a frame to this run; one at a time");
    }
    if (Status started = check_started(); !started) return started;
    if (!in_place_) return usage_error("the run was not started in place; push its frames, and pull them");
    if (stopped_) return std::unexpected(stopped_error());
    if (over_) return usage_error("the run was told that no more frames come");
  }
  const Status done = in_place_->process(from, to);
  return !done && done.error().kind == ErrorKind::interrupted ? std::unexpected(stopped_error()) : done;
}

void HostedRun::end_in_place(Status outcome) {
  const std::scoped_lock lock(mutex_);
  if (over_) return;
  in_place_->finish();
  outcome_ = std::move(outcome);
  over_ = true;
  changed_.notify_all();
}

const run::RunRecord& HostedRun::record() const { return in_place_ ? in_place_->record() : video_->record(); }

Status HostedRun::start() {
  const std::scoped_lock lock(mutex_);
  if (Status possible = check_start(); !possible) return possible;
  if (Status possible = check_files(); !possible) return possible;
  if (input_ && !video::is_of_codes(input_->format()))
    return usage_error(
        "frames of floats are processed in place; call millrace_run_start_in_place, or hand over "
        "integers of 8 to 16 bits");
  if (Status found = find_place(); !found) return found;
  auto options = run_options();
  if (!options) return std::unexpected(options.error());
  start_ = options->start.value_or(0);
  video_ = std::make_unique<run::VideoRun>(*place_->context, source(), sink(), std::move(*options));
  const SignalsBlocked blocked;
  try {
    thread_ = std::thread([this] { work(); });
  } catch (const std::system_error& error) {
    video_.reset();
    return failure("no thread is to be had for the run: {}", error.code().message());
  }
  started_ = true;
  return {};
}

void HostedRun::work() {
  Status outcome = without_exceptions([this] { return video_->run(); });
  {
    const std::scoped_lock lock(mutex_);
    outcome_ = std::move(outcome);
    over_ = true;
    changed_.notify_all();
  }
  if (input_) input_->close();
  if (output_) output_->finish();
}

Result<video::FrameFormat> HostedRun::output_format() {
  std::unique_lock lock(mutex_);
  if (Status started = check_started(); !started) return std::unexpected(started.error());
  changed_.wait(lock, [this] { return over_ || output_format_; });
  if (output_format_) return *output_format_;
  return std::unexpected(outcome_ ? stopped_error() : outcome_.error());
}

Result<Origin> HostedRun::origin() {
  const auto format = output_format();
  if (!format) return std::unexpected(format.error());
  const std::scoped_lock lock(mutex_);
  Origin origin{.format = *format, .beside = input_origin_};
  origin.beside.properties = output_properties_;
  origin.beside.start += start_;
  // Other streams cannot be matched with frames that were played several times.
  if (options_.loop > 1)
    origin.beside.file.clear();
  else if (!input_ && has_other_streams(options_.input))
    origin.beside.file = options_.input;
  return origin;
}

Result<video::FrameFormat> HostedRun::input_format() {
  const std::scoped_lock lock(mutex_);
  if (!input_)
    return usage_error("the run reads {}; frames are handed to one with input_frames", options_.input);
  return input_->format();
}

Result<Passed> HostedRun::why_closed() {
  const std::scoped_lock lock(mutex_);
  if (over_ && !outcome_) return std::unexpected(outcome_.error());
  if (!over_ && stopped_) return std::unexpected(stopped_error());
  return Passed::closed;
}

Result<Passed> HostedRun::push(pool::FunctionRef<Status(video::Frame& frame)> fill, Patience patience) {
  const Turn turn(pushing_);
  if (!turn.mine()) return usage_error("another thread is handing a frame to this run; one at a time");
  {
    const std::scoped_lock lock(mutex_);
    if (Status started = check_started(); !started) return std::unexpected(started.error());
    if (Status possible = check_not_in_place(); !possible) return std::unexpected(possible.error());
    if (!input_)
      return usage_error("the run reads {}; frames are handed to one with input_frames", options_.input);
    if (input_->ended()) return usage_error("the run was told that no more frames come");
  }
  const auto passed = input_->push(fill, patience);
  return passed && *passed == Passed::closed ? why_closed() : passed;
}

Status HostedRun::end() {
  bool in_place = false;
  {
    const std::scoped_lock lock(mutex_);
    if (Status started = check_started(); !started) return started;
    if (!input_)
      return usage_error("the run reads {}; frames are handed to one with input_frames", options_.input);
    input_->end();
    in_place = in_place_ != nullptr;
  }
  if (!in_place) return {};
  const std::scoped_lock processing(processing_);
  end_in_place(in_place_->frames() > 0 ? Status{} : failure("'{}' has no frames", own_frames));
  return {};
}

Result<Passed> HostedRun::pull(pool::FunctionRef<Status(video::Frame& frame)> show, Patience patience) {
  const Turn turn(pulling_);
  if (!turn.mine()) return usage_error("another thread is taking a frame from this run; one at a time");
  {
    const std::scoped_lock lock(mutex_);
    if (Status started = check_started(); !started) return std::unexpected(started.error());
    if (Status possible = check_not_in_place(); !possible) return std::unexpected(possible.error());
    if (!output_)
      return usage_error("the run writes {}; frames are taken from one with output_frames", options_.output);
  }
  const auto passed = output_->take(show, patience);
  return passed && *passed == Passed::closed ? why_closed() : passed;
}

Result<run::RunProgress> HostedRun::progress() {
  const std::scoped_lock lock(mutex_);
  if (Status started = check_started(); !started) return std::unexpected(started.error());
  if (in_place_) return run::RunProgress{.frames = in_place_->frames()};
  return video_->progress();
}

void HostedRun::request_stop() {
  {
    const std::scoped_lock lock(mutex_);
    stopped_ = true;
  }
  if (in_place_) {
    in_place_stop_.request_stop();
    const std::scoped_lock processing(processing_);
    end_in_place(std::unexpected(stopped_error()));
    return;
  }
  video_->stop();
  if (input_) input_->close();
}

Status HostedRun::stop() {
  {
    const std::scoped_lock lock(mutex_);
    if (Status started = check_started(); !started) return started;
  }
  request_stop();
  return {};
}

Result<Passed> HostedRun::wait(Patience patience) {
  {
    const std::scoped_lock lock(mutex_);
    if (Status started = check_started(); !started) return std::unexpected(started.error());
    if (stopped_ && output_) output_->drop();
    if (!over_ && !stopped_ && input_ && !input_->ended())
      return usage_error("the run waits for frames; end its input before waiting for it");
  }
  const Passed left = output_ && !in_place_ ? output_->wait_for_frame(patience) : Passed::closed;
  if (left == Passed::again) return left;
  std::unique_lock lock(mutex_);
  if (left == Passed::done) {
    if (!stopped_)
      return usage_error(
          "a frame is there to be taken; take them all, or stop the run, before waiting for it");
    output_->drop();
  }
  if (!wait_until(changed_, lock, patience, [this] { return over_; })) return Passed::again;
  if (!outcome_) return std::unexpected(outcome_.error());
  return Passed::done;
}

Result<const char*> HostedRun::report() {
  const std::scoped_lock lock(mutex_);
  if (Status over = check_over(); !over) return std::unexpected(over.error());
  if (!report_) {
    const run::RunReport report{.pipeline = image::to_string(pipeline_),
                                .input = options_.input,
                                .output = options_.output,
                                .record = record(),
                                .peak_rss_bytes = run::peak_rss_bytes(),
                                .ended_early = outcome_ ? std::string() : outcome_.error().message};
    report_ =
        run::to_json(report, place_->machine).dump(2, ' ', false, nlohmann::json::error_handler_t::replace);
  }
  return report_->c_str();
}

Result<const char*> HostedRun::explanation() {
  const std::scoped_lock lock(mutex_);
  if (Status over = check_over(); !over) return std::unexpected(over.error());
  if (!explanation_) {
    explanation_ = record().explanation + run::describe_bottleneck(record());
  }
  return explanation_->c_str();
}

void HostedRun::shut_down() {
  {
    const std::scoped_lock lock(mutex_);
    freed_ = true;
    if (!started_) return;
  }
  request_stop();
  if (output_) output_->drop();
  if (thread_.joinable()) thread_.join();
}

}  // namespace millrace::api
