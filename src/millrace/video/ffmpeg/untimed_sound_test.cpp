#include "millrace/video/ffmpeg/untimed_sound.h"

#include <cstdlib>
#include <optional>
#include <random>

#include <gtest/gtest.h>

namespace millrace::video {
namespace {

TEST(UntimedSoundPlaces, KeepEveryPacketWithinTenMillisecondsOfItsTime) {
  AVFormatContext* context = nullptr;
  ASSERT_GE(avformat_alloc_output_context2(&context, nullptr, "mov", nullptr), 0);
  const MuxerPtr muxer(context);
  const FfmpegPtr<AVCodecParameters> codec(avcodec_parameters_alloc());
  codec->codec_type = AVMEDIA_TYPE_AUDIO;
  codec->codec_id = AV_CODEC_ID_PCM_S16LE;
  codec->sample_rate = 48000;
  codec->ch_layout.order = AV_CHANNEL_ORDER_UNSPEC;
  codec->ch_layout.nb_channels = 2;
  std::mt19937_64 random(3);
  for (int round = 0; round < 100; ++round) {
    auto sound = UntimedSound::in(*muxer, *codec, {1, 1000});
    ASSERT_TRUE(sound);
    std::int64_t time = static_cast<std::int64_t>(random() % 100000) - 50000;
    std::optional<std::int64_t> end;
    std::int64_t silence = 0;
    for (int packet = 0; packet < 50; ++packet) {
      const auto samples = static_cast<std::int64_t>(random() % 3000 + 1);
      time += static_cast<std::int64_t>(random() % 4000) - 1000;
      const UntimedSound::Step step = sound->place(time, samples);
      if (end) {
        EXPECT_EQ(step.time, *end);
      }
      silence += step.silence;
      end = step.time + step.silence + samples - step.repeated;
      if (step.repeated < samples) {
        EXPECT_LE(std::abs(step.time + step.silence - (time + step.repeated)), 480);
      }
    }
    EXPECT_EQ(sound->filled(), silence);
    EXPECT_EQ(sound->silence(7).size(), 28U);
  }
}

}  // namespace
}  // namespace millrace::video
