// Owning pointers for FFmpeg's C structures, and FFmpeg's error codes as text.
#pragma once

#include <memory>
#include <string>

extern "C" {
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libavutil/frame.h>
#include <libswscale/swscale.h>
}

namespace millrace::video {

struct FfmpegDelete {
  void operator()(AVFormatContext* format) const { avformat_close_input(&format); }
  void operator()(AVCodecContext* codec) const { avcodec_free_context(&codec); }
  void operator()(AVFrame* frame) const { av_frame_free(&frame); }
  void operator()(AVPacket* packet) const { av_packet_free(&packet); }
  void operator()(SwsContext* context) const { sws_freeContext(context); }
  void operator()(AVCodecParameters* parameters) const { avcodec_parameters_free(&parameters); }
  void operator()(AVDictionary* dictionary) const { av_dict_free(&dictionary); }
  void operator()(AVIOContext* io) const {
    av_freep(static_cast<void*>(&io->buffer));
    avio_context_free(&io);
  }
};
template <class T> using FfmpegPtr = std::unique_ptr<T, FfmpegDelete>;

// A muxer's context is freed, not closed.
struct MuxerDelete {
  void operator()(AVFormatContext* format) const { avformat_free_context(format); }
};
using MuxerPtr = std::unique_ptr<AVFormatContext, MuxerDelete>;

// For muxers. "Experimental" allows FLAC, TrueHD and stereo video in .mp4, which older FFmpeg versions
// allowed only in this mode.
inline constexpr int muxer_compliance = FF_COMPLIANCE_EXPERIMENTAL;

[[nodiscard]] inline std::string ffmpeg_message(int code) {
  char text[AV_ERROR_MAX_STRING_SIZE] = {};
  av_strerror(code, text, sizeof text);
  return text;
}

}  // namespace millrace::video
