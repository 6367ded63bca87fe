#include "millrace/video/ffmpeg/ffmpeg_messages.h"

#include "millrace/video/ffmpeg/ffmpeg_handles.h"

#include <algorithm>
#include <array>
#include <cstdarg>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <iterator>
#include <set>
#include <string_view>
#include <utility>

namespace millrace::video {
namespace {

// The registered listeners. Other code in this process may use FFmpeg too and set `opaque` to anything, so
// the pointer is looked up here.
struct Listeners {
  std::mutex mutex;
  std::set<const void*> all;
};

Listeners& listeners() {
  // Never destroyed, because other threads may log while the process ends.
  static auto& all = *new Listeners;
  return all;
}

// The listener that `opaque` is or points into; null for other pointers. Hold the mutex until the listener is
// no longer used.
FfmpegMessages* listener_of(const void* opaque) {
  const std::set<const void*>& all = listeners().all;
  const auto after = all.upper_bound(opaque);
  if (after == all.begin()) return nullptr;
  const void* const begin = *std::prev(after);
  const bool inside =
      static_cast<const std::byte*>(opaque) < static_cast<const std::byte*>(begin) + sizeof(FfmpegMessages);
  return inside ? static_cast<FfmpegMessages*>(const_cast<void*>(begin)) : nullptr;
}

std::string as_line(const char* format, va_list arguments) {
  char text[200];
  std::vsnprintf(text, sizeof text, format, arguments);
  std::string line = text;
  while (!line.empty() && (line.back() == '\n' || line.back() == ' ' || line.back() == '.'))
    line.pop_back();
  for (char& each : line)
    if (static_cast<unsigned char>(each) < ' ') each = ' ';
  return line;
}

// Whether the message says that a playlist's demuxer skips a part that it cannot open.
bool is_of_parts(std::string_view format) {
  if (!format.starts_with("Failed to open ")) return false;
  const auto names = [format](std::string_view part) { return format.find(part) != std::string_view::npos; };
  return names(" segment") || names(" fragment") || names(" section");
}

// Whether the message says that an encoder goes on without an option inside of -params. FFmpeg only warns.
bool is_of_unused_option(std::string_view format) {
  constexpr std::array<std::string_view, 3> starts{"Error parsing option ",
                                                   "Unknown option: ", "Invalid value for "};
  return std::ranges::any_of(starts, [format](std::string_view start) { return format.starts_with(start); });
}

// Whether the message is about a tag that the TIFF decoder does not know, such as the one for the unit of the
// resolution. Nothing is missing then.
bool is_of_unknown_tag(std::string_view format) { return format.starts_with("Unknown or unsupported tag"); }

std::atomic<FfmpegHost> host = FfmpegHost::own_program;
thread_local int own_calls = 0;

// The `opaque` of a codec or demuxer; null for others.
const void* opaque_of(void* speaker, const AVClass* kind) {
  if (kind == avcodec_get_class()) return static_cast<const AVCodecContext*>(speaker)->opaque;
  if (kind == avformat_get_class()) return static_cast<const AVFormatContext*>(speaker)->opaque;
  return nullptr;
}

// Gives a message to its listener. Returns false if it has none.
bool deliver(void* speaker, int level, const char* format, va_list arguments) {
  if (speaker == nullptr) return false;
  const AVClass* const kind = *static_cast<const AVClass* const*>(speaker);
  const void* const opaque = kind != nullptr ? opaque_of(speaker, kind) : nullptr;
  if (opaque == nullptr) return false;
  const auto* const codec =
      kind == avcodec_get_class() ? static_cast<const AVCodecContext*>(speaker) : nullptr;
  const bool of_tiff = codec != nullptr && codec->codec_id == AV_CODEC_ID_TIFF;
  const bool is_error = level <= AV_LOG_ERROR && !(of_tiff && is_of_unknown_tag(format));
  // After an error, the TIFF decoder gives up the rest of the picture and returns success.
  const bool concealed = std::string_view(format).starts_with("concealing ") || (of_tiff && is_error);
  const bool left_out = is_of_parts(format);
  const bool outside = std::string_view(format).starts_with("Skipped opening external track");
  const bool unused_option = is_of_unused_option(format);
  const bool wanted = is_error || concealed || left_out || outside || unused_option;
  const std::scoped_lock lock(listeners().mutex);
  FfmpegMessages* const listener = listener_of(opaque);
  if (listener == nullptr || !wanted) return listener != nullptr;
  std::int64_t at = 0;
  if (codec != nullptr)
    at = listener->number_at(opaque);
  else if (auto* const io = static_cast<AVFormatContext*>(speaker)->pb)
    at = avio_tell(io);
  listener->add({.at = at,
                 .concealed = concealed,
                 .left_out = left_out,
                 .outside = outside,
                 .unused_option = unused_option,
                 .text = as_line(format, arguments)});
  return true;
}

// FFmpeg calls it from any thread, until the process ends.
void hear(void* speaker, int level, const char* format, va_list arguments) noexcept {
  va_list again;
  va_copy(again, arguments);
  bool ours = own_calls > 0 || host == FfmpegHost::own_program;
  try {
    ours = deliver(speaker, level, format, arguments) || ours;
  } catch (const std::exception&) {  // no memory for it
    ours = true;
  }
  if (!ours) av_log_default_callback(speaker, level, format, again);
  va_end(again);
}

}  // namespace

FfmpegMessages::FfmpegMessages() {
  const std::scoped_lock lock(listeners().mutex);
  listeners().all.insert(this);
}

FfmpegMessages::~FfmpegMessages() {
  const std::scoped_lock lock(listeners().mutex);
  listeners().all.erase(this);
}

std::vector<FfmpegMessages::Message> FfmpegMessages::take() {
  const std::scoped_lock lock(mutex_);
  return std::exchange(messages_, {});
}

void* FfmpegMessages::about(std::int64_t number) {
  auto& place = numbers_.at(static_cast<std::uint64_t>(number) % numbers_.size());
  place.store(number, std::memory_order_relaxed);
  return &place;
}

std::int64_t FfmpegMessages::number_at(const void* opaque) const {
  const auto* const place =
      std::ranges::find_if(numbers_, [opaque](const auto& each) { return &each == opaque; });
  return place != numbers_.end() ? place->load(std::memory_order_relaxed) : 0;
}

void FfmpegMessages::add(Message message) {
  const std::scoped_lock lock(mutex_);
  if (!message.unused_option && !messages_.empty() && messages_.back().at == message.at) {
    messages_.back().concealed = messages_.back().concealed || message.concealed;
    return;
  }
  messages_.push_back(std::move(message));
}

OwnFfmpegCalls::OwnFfmpegCalls() { ++own_calls; }

OwnFfmpegCalls::~OwnFfmpegCalls() { --own_calls; }

void hear_ffmpeg(FfmpegHost whose) {
  host = whose;
  // Some encoders print by themselves and ask for the level.
  if (whose == FfmpegHost::own_program) av_log_set_level(AV_LOG_QUIET);
  av_log_set_callback(&hear);
}

}  // namespace millrace::video
