// DecoderSession: one of FFmpeg's decoders, given packets by number.
#pragma once

#include "millrace/base/result.h"
#include "millrace/video/ffmpeg/demuxer.h"
#include "millrace/video/ffmpeg/ffmpeg_handles.h"
#include "millrace/video/ffmpeg/ffmpeg_messages.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace millrace::video {

// Not thread-safe. Codes are FFmpeg's.
class DecoderSession {
 public:
  // `headers` stand for those that the container does not hold; may be empty.
  [[nodiscard]] static Result<std::unique_ptr<DecoderSession>> open(Demuxer& demuxer, int threads,
                                                                    const std::vector<std::uint8_t>& headers);

  // With several threads what goes wrong shows late, by a code that belongs to some packet before, or by a
  // message alone. With one it shows before the next packet is sent.
  [[nodiscard]] bool has_threads() const { return context_->thread_count > 1; }

  // A lenient decoder takes references to what is not there for no error. Of effect with one thread only.
  [[nodiscard]] int send(const AVPacket& packet, std::int64_t number, bool lenient);
  void drain();
  [[nodiscard]] bool is_draining() const { return draining_; }
  // The picture's reordered_opaque is its packet's number.
  [[nodiscard]] int receive(AVFrame& picture) { return avcodec_receive_frame(context_.get(), &picture); }
  // Forgets packets and pictures.
  void flush();

  [[nodiscard]] std::vector<FfmpegMessages::Message> messages() { return messages_.take(); }
  [[nodiscard]] const AVCodecContext& context() const { return *context_; }

 private:
  DecoderSession() = default;

  FfmpegMessages messages_;  // behind the context, whose threads speak until they end
  FfmpegPtr<AVCodecContext> context_;
  bool draining_ = false;
};

}  // namespace millrace::video
