// Which of FFmpeg's messages this module takes, and which it leaves to the application around it.
#include "millrace/video/ffmpeg/ffmpeg_handles.h"
#include "millrace/video/ffmpeg/ffmpeg_messages.h"

#include <string>
#include <thread>

#include <gtest/gtest.h>

namespace millrace::video {
namespace {

// What FFmpeg prints during the call.
template <class Fn> std::string printed_by(FfmpegHost host, const Fn& call) {
  hear_ffmpeg(host);
  ::testing::internal::CaptureStderr();
  call();
  return ::testing::internal::GetCapturedStderr();
}

FfmpegPtr<AVCodecContext> codec() { return FfmpegPtr<AVCodecContext>(avcodec_alloc_context3(nullptr)); }

TEST(FfmpegMessages, OfAnotherProgramArePrintedAtItsOwnLevel) {
  av_log_set_level(AV_LOG_WARNING);
  const auto theirs = codec();
  const std::string printed = printed_by(FfmpegHost::other_program, [&] {
    av_log(theirs.get(), AV_LOG_ERROR, "of a codec\n");
    av_log(nullptr, AV_LOG_WARNING, "number %d\n", 7);
    av_log(nullptr, AV_LOG_INFO, "too small\n");
  });
  EXPECT_NE(printed.find("of a codec"), std::string::npos) << printed;
  EXPECT_NE(printed.find("number 7"), std::string::npos) << printed;
  EXPECT_EQ(printed.find("too small"), std::string::npos) << printed;
}

TEST(FfmpegMessages, OfThisModuleReachTheirListenerAndAreNotPrinted) {
  FfmpegMessages messages;
  const auto ours = codec();
  const std::string printed = printed_by(FfmpegHost::other_program, [&] {
    ours->opaque = messages.about(123456);
    av_log(ours.get(), AV_LOG_ERROR, "damage %s\n", "here");
    av_log(ours.get(), AV_LOG_WARNING, "of no interest\n");
    const OwnFfmpegCalls own;
    av_log(nullptr, AV_LOG_ERROR, "of a scaler\n");
  });
  EXPECT_EQ(printed, "");
  const auto heard = messages.take();
  ASSERT_EQ(heard.size(), 1U);
  EXPECT_EQ(heard[0].text, "damage here");
  EXPECT_EQ(heard[0].at, 123456);
}

TEST(FfmpegMessages, OfOtherThreadsAreNotTakenForOwnOnes) {
  const OwnFfmpegCalls own;
  const std::string printed = printed_by(FfmpegHost::other_program, [] {
    std::jthread([] { av_log(nullptr, AV_LOG_ERROR, "of theirs\n"); }).join();
  });
  EXPECT_NE(printed.find("of theirs"), std::string::npos) << printed;
}

TEST(FfmpegMessages, AreDroppedInOwnPrograms) {
  const auto theirs = codec();
  EXPECT_EQ(printed_by(FfmpegHost::own_program, [&] { av_log(theirs.get(), AV_LOG_FATAL, "loud\n"); }), "");
}

}  // namespace
}  // namespace millrace::video
