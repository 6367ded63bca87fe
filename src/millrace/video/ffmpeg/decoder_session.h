// DecoderSession: an FFmpeg decoder whose packets are numbered.
#pragma once

#include "millrace/base/error/result.h"
#include "millrace/video/ffmpeg/demuxer.h"
#include "millrace/video/ffmpeg/ffmpeg_handles.h"
#include "millrace/video/ffmpeg/ffmpeg_messages.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace millrace::video {

// Not thread-safe. Return codes are FFmpeg's.
class DecoderSession {
 public:
  // `headers` replace codec headers missing from the container; may be empty.
  [[nodiscard]] static Result<std::unique_ptr<DecoderSession>> open(Demuxer& demuxer, int threads,
                                                                    const std::vector<std::uint8_t>& headers);

  // With several threads, errors appear late: as a code that belongs to an earlier packet, or only as a
  // message. With one thread, they appear before the next packet is sent.
  [[nodiscard]] bool has_threads() const { return context_->thread_count > 1; }

  // A lenient decoder does not report references to missing pictures. Only works with one thread.
  [[nodiscard]] int send(const AVPacket& packet, std::int64_t number, bool lenient);
  void drain();
  [[nodiscard]] bool is_draining() const { return draining_; }
  // The picture's number_of() is that of its packet.
  [[nodiscard]] int receive(AVFrame& picture) { return avcodec_receive_frame(context_.get(), &picture); }
  // Forgets all packets and pictures.
  void flush();

  [[nodiscard]] std::vector<FfmpegMessages::Message> messages() { return messages_.take(); }
  [[nodiscard]] const AVCodecContext& context() const { return *context_; }

 private:
  DecoderSession() = default;

  FfmpegMessages messages_;  // declared after the context, whose threads log until they end
  FfmpegPtr<AVCodecContext> context_;
  bool draining_ = false;
};

}  // namespace millrace::video
