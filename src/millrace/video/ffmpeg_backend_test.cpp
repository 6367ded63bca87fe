// The shared object that calls FFmpeg: loaded once, and hidden from the rest of the process.
#include "millrace/video/codec_versions.h"
#include "millrace/video/ffmpeg_backend.h"

#include <array>
#include <bit>
#include <dlfcn.h>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace millrace::video {
namespace {

TEST(FfmpegBackend, IsTheSameForAllThreads) {
  std::array<const FfmpegBackend*, 8> seen{};
  {
    std::vector<std::jthread> threads;
    for (const FfmpegBackend*& each : seen)
      threads.emplace_back([&each] { each = ffmpeg_backend().value_or(nullptr); });
  }
  for (const FfmpegBackend* each : seen) {
    EXPECT_NE(each, nullptr);
    EXPECT_EQ(each, seen.front());
  }
}

TEST(FfmpegBackend, AddsNoFunctionsToTheProcess) {
  const auto backend = ffmpeg_backend();
  ASSERT_TRUE(backend) << backend.error().message;
  for (const char* name : {"avcodec_version", "avformat_version", ffmpeg_entry_name})
    EXPECT_EQ(dlsym(RTLD_DEFAULT, name), nullptr) << name;
}

TEST(FfmpegBackend, RefusesCallersOfAnotherBuild) {
  const auto backend = ffmpeg_backend();
  ASSERT_TRUE(backend) << backend.error().message;
  Dl_info info{};
  ASSERT_NE(dladdr(*std::bit_cast<const void* const*>(*backend), &info),
            0);  // its table of virtual functions
  EXPECT_NE(std::string(info.dli_fname).find("libmillrace-ffmpeg-"), std::string::npos) << info.dli_fname;
  void* const object = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  ASSERT_NE(object, nullptr) << dlerror();
  const auto entry = std::bit_cast<FfmpegEntry>(dlsym(object, ffmpeg_entry_name));
  EXPECT_EQ(entry(ffmpeg_abi + 1, true), nullptr);
  EXPECT_EQ(entry(ffmpeg_abi, true), *backend);
}

}  // namespace
}  // namespace millrace::video
