// Implements millrace.h on HostedRun: looks up handles, validates arguments, and converts errors to codes and
// texts.
#include "millrace/api/millrace.h"

#include "millrace/api/frame_times.h"
#include "millrace/api/handles.h"
#include "millrace/api/hosted_run.h"
#include "millrace/api/model_questions.h"
#include "millrace/api/own_filters.h"
#include "millrace/api/pipeline_file.h"
#include "millrace/base/text/printable.h"
#include "millrace/image/pipeline/filter_catalogue.h"
#include "millrace/image/pipeline/presets.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <functional>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

using millrace::Error;
using millrace::ErrorKind;
using millrace::Result;
using millrace::Status;
using millrace::usage_error;
using millrace::api::Handles;
using millrace::api::HostedRun;
using millrace::api::Origin;
using millrace::api::Passed;
using millrace::api::Patience;

namespace {

namespace image = millrace::image;
namespace video = millrace::video;

struct KeptPipeline {
  image::Pipeline pipeline;
  std::string text;
};

constexpr char in_this_library = 0;

Handles<millrace_pipeline, KeptPipeline>& pipelines() {
  static auto* const all =
      new Handles<millrace_pipeline, KeptPipeline>("a pipeline", 0x1001, &in_this_library);
  return *all;
}
Handles<millrace_run, HostedRun>& runs() {
  static auto* const all = new Handles<millrace_run, HostedRun>("a run", 0x1002, &in_this_library);
  return *all;
}

Handles<millrace_frame_memory, video::Frame>& taken_frames() {
  static auto* const all =
      new Handles<millrace_frame_memory, video::Frame>("a frame's memory", 0x1003, &in_this_library);
  return *all;
}

Handles<millrace_origin, Origin>& origins() {
  static auto* const all = new Handles<millrace_origin, Origin>("an origin", 0x1004, &in_this_library);
  return *all;
}

// ---- Codes and texts

std::string& error_text() {
  thread_local std::string text;
  return text;
}

millrace_code code_of(const Error& error) {
  switch (error.kind) {
  case ErrorKind::usage:
    return MILLRACE_USAGE;
  case ErrorKind::failure:
  case ErrorKind::incomplete:
  case ErrorKind::ended:
    return MILLRACE_FAILURE;
  case ErrorKind::interrupted:
    return MILLRACE_INTERRUPTED;
  }
  return MILLRACE_FAILURE;
}

millrace_code told(const Error& error) {
  error_text() = millrace::printable(error.message);
  return code_of(error);
}
millrace_code told(const Status& status) { return status ? MILLRACE_OK : told(status.error()); }
millrace_code told(const Result<Passed>& passed) {
  if (!passed) return told(passed.error());
  switch (*passed) {
  case Passed::done:
    return MILLRACE_OK;
  case Passed::again:
    return MILLRACE_AGAIN;
  case Passed::closed:
    return MILLRACE_END;
  }
  return MILLRACE_FAILURE;
}

// No exception may reach C.
template <class Call> millrace_code guarded(Call&& call) noexcept {
  try {
    error_text().clear();
    return told(call());
  } catch (const std::bad_alloc&) {
    error_text() = "out of memory";  // fits the string's own buffer, so it needs no memory
  } catch (const std::exception& error) {
    try {
      error_text() = millrace::printable(error.what());
    } catch (...) {
      error_text() = "out of memory";
    }
  } catch (...) {
    error_text() = "unknown error";
  }
  return MILLRACE_FAILURE;
}

// The same for a call on a run: call(run).
template <class Call> millrace_code on_run(const millrace_run* handle, Call&& call) noexcept {
  using Outcome = std::invoke_result_t<Call&, HostedRun&>;
  return guarded([&]() -> Outcome {
    auto run = runs().find(handle);
    if (!run) return std::unexpected(run.error());
    return call(**run);
  });
}

Status check_pointer(const auto* pointer, const char* name) {
  if (pointer == nullptr) return usage_error("{} is NULL", name);
  return {};
}

template <class T> Status hand_out(Result<T> value, T* target, const char* name) {
  if (Status there = check_pointer(target, name); !there) return there;
  if (!value) return std::unexpected(value.error());
  *target = *value;
  return {};
}

// ---- Formats and frames

// Value of millrace_format.bits for float samples.
constexpr int32_t float_bits = 32;
constexpr video::SampleForms all_numbers{video::SampleForm::numbers, video::SampleForm::numbers,
                                         video::SampleForm::numbers};

Status check_format_size(const millrace_format* format) {
  if (Status there = check_pointer(format, "format"); !there) return there;
  if (format->size != sizeof(millrace_format))
    return usage_error(
        "the size of the format is {}, not {}; begin with MILLRACE_FORMAT, of the header of {}", format->size,
        sizeof(millrace_format), MILLRACE_VERSION);
  return {};
}

Result<video::FrameFormat> format_of(const millrace_format* format) {
  if (Status sized = check_format_size(format); !sized) return std::unexpected(sized.error());
  const millrace_format& f = *format;
  if (f.width < 1 || f.width > video::max_dimension || f.height < 1 || f.height > video::max_dimension)
    return usage_error("frames of {}x{} are impossible; 1x1 to {}x{} are possible", f.width, f.height,
                       video::max_dimension, video::max_dimension);
  if (f.chroma < MILLRACE_GRAY || f.chroma > MILLRACE_444)
    return usage_error("there is no chroma {}; use one of millrace_chroma", f.chroma);
  const bool floats = f.bits == float_bits;
  if (!floats && (f.bits < 8 || f.bits > 16))
    return usage_error("samples of {} bits are impossible; 8 to 16 are possible, and 32 for floats", f.bits);
  if (floats && f.chroma != MILLRACE_GRAY)
    return usage_error("frames of floats are gray; process each plane as a frame of its own");
  if (f.rate[0] < 1 || f.rate[1] < 1)
    return usage_error("{}/{} is not a valid frame rate", f.rate[0], f.rate[1]);
  if (f.time_base[0] < 0 || f.time_base[1] < 1)
    return usage_error("{}/{} is not a valid time base; 0/1 means that frames have no timestamps",
                       f.time_base[0], f.time_base[1]);
  return video::FrameFormat{.width = f.width,
                            .height = f.height,
                            .chroma = static_cast<video::Chroma>(f.chroma),
                            .bits = floats ? 16 : f.bits,
                            .rate_numerator = f.rate[0],
                            .rate_denominator = f.rate[1],
                            .time_base_numerator = f.time_base[0],
                            .time_base_denominator = f.time_base[1],
                            .forms = floats ? all_numbers : video::SampleForms{}};
}

millrace_format format_from(const video::FrameFormat& format) {
  return {.size = sizeof(millrace_format),
          .width = format.width,
          .height = format.height,
          .chroma = static_cast<int32_t>(format.chroma),
          .bits = video::is_of_codes(format) ? format.bits : float_bits,
          .rate = {format.rate_numerator, format.rate_denominator},
          .time_base = {format.time_base_numerator, format.time_base_denominator}};
}

Status hand_out_format(const Result<video::FrameFormat>& format, millrace_format* target) {
  if (Status sized = check_format_size(target); !sized) return sized;
  if (!format) return std::unexpected(format.error());
  *target = format_from(*format);
  return {};
}

std::ptrdiff_t row_bytes(const video::FrameFormat& format, int plane) {
  return std::ptrdiff_t{video::plane_width(format, plane)} * video::bytes_per_sample(format);
}

Status check_frame_size(const millrace_frame* frame) {
  if (Status there = check_pointer(frame, "frame"); !there) return there;
  if (frame->size != sizeof(millrace_frame))
    return usage_error("the size of the frame is {}, not {}; begin with MILLRACE_FRAME, of the header of {}",
                       frame->size, sizeof(millrace_frame), MILLRACE_VERSION);
  return {};
}

Status check_frame(const millrace_frame* frame, const video::FrameFormat& format) {
  if (Status sized = check_frame_size(frame); !sized) return sized;
  for (int plane = 0; plane < video::plane_count(format.chroma); ++plane) {
    if (frame->planes[plane] == nullptr)
      return usage_error("plane {} of the frame is NULL; frames are {}", plane, video::to_string(format));
    const std::ptrdiff_t stride = frame->strides[plane];
    if (std::max(stride, -stride) < row_bytes(format, plane))
      return usage_error("the stride of plane {} is {} bytes, and its rows have {}; frames are {}", plane,
                         stride, row_bytes(format, plane), video::to_string(format));
  }
  return {};
}

std::byte* row_of(const millrace_frame& frame, int plane, int y) {
  return static_cast<std::byte*>(frame.planes[plane]) + y * frame.strides[plane];
}

Status read_frame(const millrace_frame& from, video::Frame& frame) {
  const video::FrameFormat& format = frame.format();
  for (int p = 0; p < frame.planes(); ++p) {
    const video::PlaneView plane = frame.plane(p);
    for (int y = 0; y < plane.height; ++y)
      std::memcpy(plane.row<std::byte>(y), row_of(from, p, y),
                  static_cast<std::size_t>(row_bytes(format, p)));
  }
  if (!video::within_bit_depth(frame))
    return usage_error("a sample of the frame is above the {} of {} bits", (1 << format.bits) - 1,
                       format.bits);
  if (from.timestamp != MILLRACE_NO_TIMESTAMP) {
    if (!format.has_timestamps())
      return usage_error("the frame has a timestamp, and its format no time base to read it by");
    frame.timestamp = from.timestamp;
  }
  return {};
}

Status write_frame(const video::Frame& frame, millrace_frame& to) {
  if (Status possible = check_frame(&to, frame.format()); !possible) return possible;
  for (int p = 0; p < frame.planes(); ++p) {
    const video::PlaneView plane = frame.plane(p);
    for (int y = 0; y < plane.height; ++y)
      std::memcpy(row_of(to, p, y), plane.row<std::byte>(y),
                  static_cast<std::size_t>(row_bytes(frame.format(), p)));
  }
  to.timestamp = frame.timestamp.value_or(MILLRACE_NO_TIMESTAMP);
  return {};
}

Result<std::vector<image::PixelView>> views_of(const millrace_frame* frame,
                                               const Result<video::FrameFormat>& format) {
  if (!format) return std::unexpected(format.error());
  if (Status possible = check_frame(frame, *format); !possible) return std::unexpected(possible.error());
  const auto type = !video::is_of_codes(*format) ? image::ElementType::f32
                    : format->bits > 8           ? image::ElementType::u16
                                                 : image::ElementType::u8;
  std::vector<image::PixelView> views;
  for (int p = 0; p < video::plane_count(format->chroma); ++p)
    views.push_back({static_cast<std::byte*>(frame->planes[p]), frame->strides[p],
                     image::whole({video::plane_width(*format, p), video::plane_height(*format, p)}), type});
  return views;
}

// Infinities and NaN have all exponent bits set. Integer comparisons vectorise.
bool all_finite(const std::byte* row, int width) {
  constexpr std::uint32_t exponent = 0x7f800000;
  std::uint32_t largest = 0;
  for (int x = 0; x < width; ++x) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, row + std::ptrdiff_t{x} * std::ptrdiff_t{sizeof bits}, sizeof bits);
    largest = std::max(largest, bits & exponent);
  }
  return largest != exponent;
}

// Kernels use samples as table indices, so they must be finite.
Status check_finite(const std::vector<image::PixelView>& planes) {
  for (const image::PixelView& plane : planes)
    for (int y = plane.covers.y0; y < plane.covers.y1; ++y)
      if (!all_finite(plane.at(plane.covers.x0, y), plane.covers.width()))
        return usage_error("row {} of the frame has a sample that is infinite or not a number; replace it "
                           "first",
                           y);
  return {};
}

Status check_samples(const std::vector<image::PixelView>& planes, int bits) {
  if (planes.front().type == image::ElementType::f32) return check_finite(planes);
  if (bits == 8 || bits == 16) return {};
  for (const image::PixelView& plane : planes) {
    for (int y = plane.covers.y0; y < plane.covers.y1; ++y) {
      for (int x = plane.covers.x0; x < plane.covers.x1; ++x) {
        std::uint16_t sample = 0;
        std::memcpy(&sample, plane.at(x, y), sizeof sample);
        if (sample >> static_cast<unsigned>(bits) != 0)
          return usage_error("a sample of the frame is above the {} of {} bits", (1 << bits) - 1, bits);
      }
    }
  }
  return {};
}

Patience patience_of(int milliseconds) {
  if (milliseconds < 0) return std::nullopt;
  return std::chrono::milliseconds(milliseconds);
}

Result<Passed> push_frame(HostedRun& run, const millrace_frame* frame,
                          millrace::pool::FunctionRef<Status(video::Frame& copy)> fill, int milliseconds) {
  const auto format = run.input_format();
  if (!format) return std::unexpected(format.error());
  if (Status possible = check_frame(frame, *format); !possible) return std::unexpected(possible.error());
  return run.push(fill, patience_of(milliseconds));
}

Status create_pipeline(const char* text, std::span<const image::FilterRef> own,
                       millrace_pipeline** pipeline) {
  if (Status there = check_pointer(pipeline, "the place of the pipeline"); !there) return there;
  *pipeline = nullptr;
  if (Status there = check_pointer(text, "the text of the pipeline"); !there) return there;
  if (Status regular = millrace::api::check_pipeline_file(text); !regular) return regular;
  auto loaded = image::load_pipeline(text, {}, own);
  if (!loaded) return std::unexpected(loaded.error());
  std::string spelled = image::to_string(*loaded);
  *pipeline =
      pipelines().add(std::make_shared<KeptPipeline>(KeptPipeline{std::move(*loaded), std::move(spelled)}));
  return {};
}

// Asks `stop` ten times a second, however often it is asked itself.
std::function<bool()> now_and_then(int (*stop)(void*), void* argument) {
  if (stop == nullptr) return {};
  using Clock = std::chrono::steady_clock;
  return [stop, argument, next = Clock::now()]() mutable {
    constexpr std::chrono::milliseconds between_questions(100);
    if (Clock::now() < next) return false;
    next = Clock::now() + between_questions;
    return stop(argument) != 0;
  };
}

// Keeps the answer for the calling thread.
Status answer_question(Result<std::string> (*answered)(std::string_view, const std::function<bool()>&),
                       const char* question, const std::function<bool()>& stops, const char** answer) {
  thread_local std::string kept;
  if (Status there = check_pointer(answer, "the place of the answer"); !there) return there;
  *answer = nullptr;
  if (Status there = check_pointer(question, "the question"); !there) return there;
  auto made = answered(question, stops);
  if (!made) return std::unexpected(made.error());
  kept = std::move(*made);
  *answer = kept.c_str();
  return {};
}

// Keeps the first text that could be made for ever. Several threads may call it at the same time.
template <class Make> Status hand_out_text(const Make& make, const char** text) {
  static std::atomic<const std::string*> kept = nullptr;
  if (Status there = check_pointer(text, "the place of the text"); !there) return there;
  const std::string* known = kept.load(std::memory_order_acquire);
  if (known == nullptr) {
    Result<std::string> made = make();
    if (!made) return std::unexpected(made.error());
    auto fresh = std::make_unique<const std::string>(*std::move(made));
    // acq_rel: a thread that loads the pointer sees the characters. If another thread was first, its text is
    // used.
    if (kept.compare_exchange_strong(known, fresh.get(), std::memory_order_acq_rel)) known = fresh.release();
  }
  *text = known->c_str();
  return {};
}

template <class Json> std::string dumped(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

const char* millrace_version(void) { return MILLRACE_VERSION; }

const char* millrace_error(void) { return error_text().c_str(); }

millrace_code millrace_filters(const char** json) {
  return guarded([&] {
    return hand_out_text([] { return Result<std::string>(dumped(image::catalogue_json())); }, json);
  });
}

millrace_code millrace_machine(const char** json) {
  return guarded([&] {
    const auto make = []() -> Result<std::string> {
      const auto machine = millrace::machine::inspect_machine();
      if (!machine) return std::unexpected(machine.error());
      return dumped(millrace::machine::to_json(*machine));
    };
    return hand_out_text(make, json);
  });
}

millrace_code millrace_frame_times(const char* name, int (*stop)(void*), void* stop_argument,
                                   const int64_t** times, int64_t* count, int32_t time_base[2]) {
  return guarded([&]() -> Status {
    thread_local std::vector<int64_t> kept;
    if (Status there = check_pointer(times, "the place of the times"); !there) return there;
    *times = nullptr;
    if (Status there = check_pointer(name, "the name of the video"); !there) return there;
    if (Status there = check_pointer(count, "the place of the count"); !there) return there;
    if (Status there = check_pointer(time_base, "the place of the time base"); !there) return there;
    auto known =
        millrace::api::frame_times(name, [&] { return stop != nullptr && stop(stop_argument) != 0; });
    if (!known) return std::unexpected(known.error());
    kept = std::move(known->times);
    *times = kept.data();
    *count = std::ssize(kept);
    time_base[0] = known->time_base_numerator;
    time_base[1] = known->time_base_denominator;
    return {};
  });
}

millrace_code millrace_pipeline_create(const char* text, millrace_pipeline** pipeline) {
  return guarded([&] { return create_pipeline(text, {}, pipeline); });
}

millrace_code millrace_pipeline_create_with(const char* text, const char* filters,
                                            millrace_pipeline** pipeline) {
  return guarded([&]() -> Status {
    if (Status there = check_pointer(pipeline, "the place of the pipeline"); !there) return there;
    *pipeline = nullptr;
    if (Status there = check_pointer(filters, "the text of the filters"); !there) return there;
    const auto own = millrace::api::read_own_filters(filters);
    if (!own) return std::unexpected(own.error());
    if (Status possible = image::check_own_filters(*own); !possible) return possible;
    return create_pipeline(text, *own, pipeline);
  });
}

millrace_code millrace_pipeline_free(millrace_pipeline* pipeline) {
  return guarded([&]() -> Status {
    const auto removed = pipelines().remove(pipeline);
    if (!removed) return std::unexpected(removed.error());
    return {};
  });
}

millrace_code millrace_pipeline_text(millrace_pipeline* pipeline, const char** text) {
  return guarded([&]() -> Status {
    const auto found = pipelines().find(pipeline);
    if (!found) return std::unexpected(found.error());
    return hand_out<const char*>((*found)->text.c_str(), text, "the place of the text");
  });
}

millrace_code millrace_pipeline_neighbours(millrace_pipeline* pipeline, int* before, int* after) {
  return guarded([&]() -> Status {
    const auto found = pipelines().find(pipeline);
    if (!found) return std::unexpected(found.error());
    const image::NeighbouringFrames neighbours = image::neighbours_of((*found)->pipeline);
    if (before != nullptr) *before = neighbours.before;
    if (after != nullptr) *after = neighbours.after;
    return {};
  });
}

millrace_code millrace_format_plane(const millrace_format* format, int plane, int* planes, int* width,
                                    int* height) {
  return guarded([&]() -> Status {
    const auto known = format_of(format);
    if (!known) return std::unexpected(known.error());
    const int count = video::plane_count(known->chroma);
    if (plane < 0 || plane >= count)
      return usage_error("there is no plane {}; frames of {} have {}, from 0", plane,
                         video::to_string(*known), count);
    if (planes != nullptr) *planes = count;
    if (width != nullptr) *width = video::plane_width(*known, plane);
    if (height != nullptr) *height = video::plane_height(*known, plane);
    return {};
  });
}

millrace_code millrace_pipeline_format(millrace_pipeline* pipeline, const millrace_format* input,
                                       const char* planes, millrace_format* output) {
  return guarded([&]() -> Status {
    const auto found = pipelines().find(pipeline);
    if (!found) return std::unexpected(found.error());
    const auto format = format_of(input);
    if (!format) return std::unexpected(format.error());
    const auto which =
        image::parse_planes(planes == nullptr ? image::name_of(image::Planes::automatic) : planes);
    if (!which) return std::unexpected(which.error());
    const auto layout = image::lay_out_frame((*found)->pipeline, *format, *which, image::Samples::codes,
                                             *format, format->forms);
    if (!layout) return std::unexpected(layout.error());
    return hand_out_format(layout->output, output);
  });
}

millrace_code millrace_pipeline_needs_color(millrace_pipeline* pipeline, int* needs) {
  return guarded([&]() -> Status {
    const auto found = pipelines().find(pipeline);
    if (!found) return std::unexpected(found.error());
    return hand_out<int>(image::needs_color((*found)->pipeline) ? 1 : 0, needs, "the place of the answer");
  });
}

millrace_code millrace_pipeline_aspect(millrace_pipeline* pipeline, const millrace_format* input,
                                       const int32_t aspect[2], int32_t made[2]) {
  return guarded([&]() -> Status {
    const auto found = pipelines().find(pipeline);
    if (!found) return std::unexpected(found.error());
    auto format = format_of(input);
    if (!format) return std::unexpected(format.error());
    if (Status there = check_pointer(aspect, "aspect"); !there) return there;
    if (Status there = check_pointer(made, "made"); !there) return there;
    if (aspect[0] < 0 || aspect[1] < 1)
      return usage_error("{}:{} is not a valid sample aspect ratio; 0:1 means that it is unknown", aspect[0],
                         aspect[1]);
    format->aspect_numerator = aspect[0];
    format->aspect_denominator = aspect[1];
    const auto layout = image::lay_out_frame((*found)->pipeline, *format, image::Planes::automatic,
                                             image::Samples::codes, *format);
    if (!layout) return std::unexpected(layout.error());
    made[0] = layout->output.aspect_numerator;
    made[1] = layout->output.aspect_denominator;
    return {};
  });
}

millrace_code millrace_run_create(millrace_pipeline* pipeline, millrace_run** run) {
  return guarded([&]() -> Status {
    if (Status there = check_pointer(run, "the place of the run"); !there) return there;
    *run = nullptr;
    const auto found = pipelines().find(pipeline);
    if (!found) return std::unexpected(found.error());
    *run = runs().add(std::make_shared<HostedRun>((*found)->pipeline));
    return {};
  });
}

millrace_code millrace_run_free(millrace_run* run) {
  return guarded([&]() -> Status {
    const auto removed = runs().remove(run);
    if (!removed) return std::unexpected(removed.error());
    (*removed)->shut_down();
    return {};
  });
}

millrace_code millrace_run_set(millrace_run* run, const char* name, const char* value) {
  return on_run(run, [&](HostedRun& of) -> Status {
    if (Status there = check_pointer(name, "the name of the option"); !there) return there;
    if (Status there = check_pointer(value, "the value of the option"); !there) return there;
    return of.set(name, value);
  });
}

millrace_code millrace_run_input(millrace_run* run, const char* name) {
  return on_run(run, [&](HostedRun& of) -> Status {
    if (Status there = check_pointer(name, "the name of the input"); !there) return there;
    return of.input(name);
  });
}

millrace_code millrace_run_input_frames(millrace_run* run, const millrace_format* format) {
  return on_run(run, [&](HostedRun& of) -> Status {
    const auto known = format_of(format);
    if (!known) return std::unexpected(known.error());
    return of.input_frames(*known);
  });
}

millrace_code millrace_run_input_frames_like(millrace_run* run, const millrace_origin* origin) {
  return on_run(run, [&](HostedRun& of) -> Status {
    const auto found = origins().find(origin);
    if (!found) return std::unexpected(found.error());
    return of.input_frames_like(**found);
  });
}

millrace_code millrace_run_origin(millrace_run* run, millrace_origin** origin) {
  return on_run(run, [&](HostedRun& of) -> Status {
    if (Status there = check_pointer(origin, "the place of the origin"); !there) return there;
    *origin = nullptr;
    auto known = of.origin();
    if (!known) return std::unexpected(known.error());
    *origin = origins().add(std::make_shared<Origin>(std::move(*known)));
    return {};
  });
}

millrace_code millrace_origin_free(millrace_origin* origin) {
  return guarded([&]() -> Status {
    const auto removed = origins().remove(origin);
    if (!removed) return std::unexpected(removed.error());
    return {};
  });
}

millrace_code millrace_run_output(millrace_run* run, const char* name) {
  return on_run(run, [&](HostedRun& of) -> Status {
    if (Status there = check_pointer(name, "the name of the output"); !there) return there;
    return of.output(name);
  });
}

millrace_code millrace_run_output_frames(millrace_run* run) {
  return on_run(run, [](HostedRun& of) { return of.output_frames(); });
}

millrace_code millrace_run_start(millrace_run* run) {
  return on_run(run, [](HostedRun& of) { return of.start(); });
}

millrace_code millrace_run_start_in_place(millrace_run* run) {
  return on_run(run, [](HostedRun& of) { return of.start_in_place(); });
}

millrace_code millrace_run_process(millrace_run* run, const millrace_frame* from, millrace_frame* to) {
  return on_run(run, [&](HostedRun& of) -> Status {
    const auto format = of.input_format();
    const auto sources = views_of(from, format);
    if (!sources) return std::unexpected(sources.error());
    const auto destinations = views_of(to, of.output_format());
    if (!destinations) return std::unexpected(destinations.error());
    if (Status possible = check_samples(*sources, format->bits); !possible) return possible;
    if (from->timestamp != MILLRACE_NO_TIMESTAMP && !format->has_timestamps())
      return usage_error("the frame has a timestamp, and its format no time base to read it by");
    if (Status done = of.process(*sources, *destinations); !done) return done;
    to->timestamp = from->timestamp;
    return {};
  });
}

millrace_code millrace_run_output_format(millrace_run* run, millrace_format* format) {
  return on_run(run, [&](HostedRun& of) -> Status {
    // Before the wait for the input.
    if (Status sized = check_format_size(format); !sized) return sized;
    return hand_out_format(of.output_format(), format);
  });
}

millrace_code millrace_run_push(millrace_run* run, const millrace_frame* frame, int milliseconds) {
  return on_run(run, [&](HostedRun& of) {
    return push_frame(of, frame, [&](video::Frame& copy) { return read_frame(*frame, copy); }, milliseconds);
  });
}

millrace_code millrace_run_end(millrace_run* run) {
  return on_run(run, [](HostedRun& of) { return of.end(); });
}

millrace_code millrace_run_pull(millrace_run* run, millrace_frame* frame, int milliseconds) {
  return on_run(run, [&](HostedRun& of) -> Result<Passed> {
    // Before the wait for a frame.
    if (Status sized = check_frame_size(frame); !sized) return std::unexpected(sized.error());
    return of.pull([&](const video::Frame& done) { return write_frame(done, *frame); },
                   patience_of(milliseconds));
  });
}

millrace_code millrace_run_take(millrace_run* run, millrace_frame* frame, millrace_frame_memory** memory,
                                int milliseconds) {
  if (memory != nullptr) *memory = nullptr;
  return on_run(run, [&](HostedRun& of) -> Result<Passed> {
    if (Status there = check_pointer(memory, "the place of the memory"); !there)
      return std::unexpected(there.error());
    if (Status there = check_frame_size(frame); !there) return std::unexpected(there.error());
    const auto take = [&](video::Frame& done) -> Status {
      // Allocate before taking the frame from the run, so that running out of memory does not lose the frame.
      auto kept = std::make_shared<video::Frame>();
      *memory = taken_frames().add(kept);
      *kept = std::move(done);
      *frame = MILLRACE_FRAME;
      for (int p = 0; p < kept->planes(); ++p) {
        const video::PlaneView plane = kept->plane(p);
        frame->planes[p] = plane.data;
        frame->strides[p] = plane.stride;
      }
      frame->timestamp = kept->timestamp.value_or(MILLRACE_NO_TIMESTAMP);
      return {};
    };
    return of.pull(take, patience_of(milliseconds));
  });
}

millrace_code millrace_frame_memory_free(millrace_frame_memory* memory) {
  return guarded([&]() -> Status {
    const auto removed = taken_frames().remove(memory);
    if (!removed) return std::unexpected(removed.error());
    return {};
  });
}

millrace_code millrace_frame_memory_has_data(const millrace_frame_memory* memory, int* has) {
  return guarded([&]() -> Status {
    const auto found = taken_frames().find(memory);
    if (!found) return std::unexpected(found.error());
    return hand_out<int>((*found)->properties ? 1 : 0, has, "the place of the answer");
  });
}

millrace_code millrace_run_push_made_of(millrace_run* run, const millrace_frame* frame,
                                        const millrace_frame_memory* memory, int milliseconds) {
  return on_run(run, [&](HostedRun& of) -> Result<Passed> {
    const auto made_of = taken_frames().find(memory);
    if (!made_of) return std::unexpected(made_of.error());
    const auto fill = [&](video::Frame& copy) {
      copy.properties = (*made_of)->properties;
      return read_frame(*frame, copy);
    };
    return push_frame(of, frame, fill, milliseconds);
  });
}

millrace_code millrace_run_progress(millrace_run* run, int64_t* frames, int64_t* total) {
  return on_run(run, [&](HostedRun& of) -> Status {
    const auto progress = of.progress();
    if (!progress) return std::unexpected(progress.error());
    if (frames != nullptr) *frames = progress->frames;
    if (total != nullptr) *total = progress->total.value_or(-1);
    return {};
  });
}

millrace_code millrace_run_stop(millrace_run* run) {
  return on_run(run, [](HostedRun& of) { return of.stop(); });
}

millrace_code millrace_run_wait(millrace_run* run, int milliseconds) {
  return on_run(run, [&](HostedRun& of) { return of.wait(patience_of(milliseconds)); });
}

millrace_code millrace_run_report(millrace_run* run, const char** json) {
  return on_run(run, [&](HostedRun& of) { return hand_out(of.report(), json, "the place of the text"); });
}

millrace_code millrace_run_explanation(millrace_run* run, const char** text) {
  return on_run(run,
                [&](HostedRun& of) { return hand_out(of.explanation(), text, "the place of the text"); });
}

millrace_code millrace_predict(const char* question, const char** answer) {
  return guarded([&] { return answer_question(millrace::api::predict, question, {}, answer); });
}

millrace_code millrace_simulate(const char* question, const char** answer) {
  return guarded([&] { return answer_question(millrace::api::simulate, question, {}, answer); });
}

millrace_code millrace_predict_until(const char* question, int (*stop)(void*), void* stop_argument,
                                     const char** answer) {
  return guarded([&] {
    return answer_question(millrace::api::predict, question, now_and_then(stop, stop_argument), answer);
  });
}

millrace_code millrace_simulate_until(const char* question, int (*stop)(void*), void* stop_argument,
                                      const char** answer) {
  return guarded([&] {
    return answer_question(millrace::api::simulate, question, now_and_then(stop, stop_argument), answer);
  });
}
