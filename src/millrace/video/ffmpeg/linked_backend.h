// LinkedBackend: the FfmpegBackend of the FFmpeg that this shared object is linked with.
#pragma once

#include "millrace/video/ffmpeg_backend.h"

namespace millrace::video {

// Each function is defined in a file named after what it opens or makes.
class LinkedBackend final : public FfmpegBackend {
 public:
  [[nodiscard]] Result<std::unique_ptr<FrameReader>>
  open_reader(std::unique_ptr<InputFile> file, const ReaderOptions& options,
              const std::optional<EarlierFrames>& earlier) const override;
  [[nodiscard]] Result<EncoderChoice> choose_encoder(std::string_view output, const Container& container,
                                                     const FrameFormat& format,
                                                     const WriterOptions& options) const override;
  [[nodiscard]] Result<std::unique_ptr<FrameWriter>> open_writer(std::unique_ptr<OutputFile> file,
                                                                 const FrameFormat& format,
                                                                 const EncoderChoice& choice,
                                                                 const WriterOptions& options) const override;
  [[nodiscard]] Result<std::unique_ptr<PictureEncoder>>
  open_picture_encoder(std::string_view name, const std::string& encoder, const FrameFormat& format,
                       const WriterOptions& options) const override;
  [[nodiscard]] std::shared_ptr<SideStreams> make_side_streams(bool audio, std::optional<std::int64_t> start,
                                                               std::optional<std::int64_t> end,
                                                               const std::string& output) const override;
  void begin_pass(SideStreams& side, std::int64_t begin, std::int64_t shift, TimeUnit unit,
                  bool has_window) const override;
  void set_window(SideStreams& side, std::optional<std::int64_t> start, std::optional<std::int64_t> end,
                  std::int64_t shift, TimeUnit unit) const override;
  void end_with_frames(SideStreams& side) const override;
  [[nodiscard]] Result<std::unique_ptr<SideReader>>
  open_side_reader(const std::string& file, std::shared_ptr<SideStreams> side,
                   const SideReaderOptions& options) const override;
  [[nodiscard]] Result<PacketIndex> index_packets(const std::string& file,
                                                  const std::stop_token& stop) const override;
  [[nodiscard]] Result<JoinedFile> join_videos(const JoinedVideo& video, const std::string& output,
                                               const JoinOptions& options) const override;
  [[nodiscard]] Result<std::int64_t> reordering_of(const std::string& file) const override;
  [[nodiscard]] Result<Thumbnail> make_thumbnail(const Frame& frame, int side) const override;
  [[nodiscard]] Result<std::vector<std::byte>> png_of_svg(const std::string& svg) const override;
  [[nodiscard]] Result<SampleFormat> sample_format(const std::string& name) const override;
  [[nodiscard]] Result<std::unique_ptr<FrameReader>> converted(std::unique_ptr<FrameReader> reader,
                                                               const Samples& samples) const override;
  [[nodiscard]] std::string codec_versions() const override;
};

}  // namespace millrace::video
