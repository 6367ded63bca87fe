#include "millrace/video/ffmpeg/ffmpeg_messages.h"

#include "millrace/video/ffmpeg/ffmpeg_handles.h"

#include <algorithm>
#include <array>
#include <cstdarg>
#include <cstdio>
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
  static Listeners all;
  return all;
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

void hear(void* speaker, int level, const char* format, va_list arguments) {
  const bool concealed = std::string_view(format).starts_with("concealing ");
  const bool left_out = is_of_parts(format);
  const bool unused_option = is_of_unused_option(format);
  if (speaker == nullptr || (level > AV_LOG_ERROR && !concealed && !left_out && !unused_option)) return;
  const AVClass* kind = *static_cast<const AVClass* const*>(speaker);
  FfmpegMessages::Message message{
      .concealed = concealed, .left_out = left_out, .unused_option = unused_option};
  void* listener = nullptr;
  if (kind == avcodec_get_class()) {
    const auto* decoder = static_cast<const AVCodecContext*>(speaker);
    listener = decoder->opaque;
    message.at = decoder->reordered_opaque;
  } else if (kind == avformat_get_class()) {
    auto* demuxer = static_cast<AVFormatContext*>(speaker);
    listener = demuxer->opaque;
    message.at = demuxer->pb != nullptr ? avio_tell(demuxer->pb) : 0;
  }
  if (listener == nullptr) return;
  message.text = as_line(format, arguments);
  const std::scoped_lock lock(listeners().mutex);
  if (listeners().all.contains(listener)) static_cast<FfmpegMessages*>(listener)->add(std::move(message));
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

void FfmpegMessages::add(Message message) {
  const std::scoped_lock lock(mutex_);
  if (!message.unused_option && !messages_.empty() && messages_.back().at == message.at) {
    messages_.back().concealed = messages_.back().concealed || message.concealed;
    return;
  }
  messages_.push_back(std::move(message));
}

void hear_ffmpeg() {
  av_log_set_level(AV_LOG_QUIET);
  av_log_set_callback(&hear);
}

}  // namespace millrace::video
