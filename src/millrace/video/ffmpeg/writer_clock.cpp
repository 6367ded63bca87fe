#include "millrace/video/ffmpeg/writer_clock.h"

#include "millrace/video/ffmpeg/color_tags.h"

#include <algorithm>

extern "C" {
#include <libavutil/opt.h>
}

namespace millrace::video {

WriterClock::WriterClock(const FrameFormat& format, const Container& container)
    : base_(format.has_timestamps() ? AVRational{format.time_base_numerator, format.time_base_denominator}
                                    : AVRational{format.rate_denominator, format.rate_numerator}),
      time_base_(base_) {
  const bool too_fine = format.has_timestamps() && base_.den / base_.num >= 1'000'000;
  if (container.iso && too_fine) time_base_ = {1, 100'000};
  duration_ = std::max<std::int64_t>(
      1, av_rescale_q(1, {format.rate_denominator, format.rate_numerator}, time_base_));
}

// FFmpeg's .mp4 has two ends: the sum of durations in decoding order, and the latest end of a packet in
// display order. A packet that is decoded too long before it is shown cannot meet both.
void end_file_at(std::int64_t end, std::int64_t first_pts, std::int64_t first_dts, AVPacket& last) {
  last.dts = std::max(last.dts, last.pts - (first_pts - first_dts));
  last.duration = std::max<std::int64_t>(1, end - first_pts - (last.dts - first_dts));
}

void set_up_muxer(AVFormatContext& muxer, const Container& container, const FrameFormat& format,
                  const WriterClock& clock, AVStream& stream) {
  if (container.iso) {
    // Apple's players require this tag.
    if (stream.codecpar->codec_id == AV_CODEC_ID_HEVC) stream.codecpar->codec_tag = MKTAG('h', 'v', 'c', '1');
    // If a video does not begin at 0, an edit list delays it, in units of the movie time scale.
    av_opt_set_int(muxer.priv_data, "movie_timescale", clock.time_base().den, 0);
    // If told to write unknown colour tags, FFmpeg guesses them from the size.
    if (!has_color_description(format)) av_opt_set(muxer.priv_data, "movflags", "-write_colr", 0);
  } else if (container.matroska) {
    // Matroska stores presentation times only. Decoding times may be negative.
    muxer.avoid_negative_ts = AVFMT_AVOID_NEG_TS_DISABLED;
  }
}

}  // namespace millrace::video
