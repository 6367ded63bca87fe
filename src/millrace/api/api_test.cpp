#include "millrace/api/api_testing.h"
#include "millrace/api/handles.h"
#include "millrace/api/millrace.h"
#include "millrace/base/testing/release_only_testing.h"
#include "millrace/base/testing/temporary_folder_testing.h"
#include "millrace/video/reader.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <barrier>
#include <bit>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <memory>
#include <new>
#include <set>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sys/mman.h>
#include <sys/wait.h>

extern "C" int c_program(char* message, std::size_t size);

namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;
using namespace millrace;
using namespace millrace::api::testing;

std::vector<video::Frame> frames_of(const std::string& name) {
  std::vector<video::Frame> frames;
  auto reader = video::open_reader(name);
  EXPECT_TRUE(reader) << reader.error().message;
  if (!reader) return frames;
  while (true) {
    auto frame = (*reader)->next();
    if (!frame || !*frame) return frames;
    frames.push_back(std::move(**frame));
  }
}

millrace_format format_of(const video::Frame& frame) {
  const video::FrameFormat& f = frame.format();
  return {
      sizeof(millrace_format), f.width, f.height, static_cast<int32_t>(f.chroma), f.bits, {25, 1}, {1, 1000}};
}

TEST(Api, ServesAProgramInC) {
  std::array<char, 400> message{};
  EXPECT_EQ(c_program(message.data(), message.size()), 1) << message.data();
}

// A pipeline and a generated video.
class ApiFrames : public ::testing::TestWithParam<std::pair<const char*, const char*>> {};

TEST_P(ApiFrames, OfTheCallerBecomeWhatARunFromFileToFileMakesOfThem) {
  const auto& [pipeline, input] = GetParam();
  const TemporaryFolder folder;
  const std::string output = folder / "out.y4m";
  {
    const OwnRun run(pipeline);
    OK(millrace_run_input(run.handle, input));
    OK(millrace_run_output(run.handle, output.c_str()));
    OK(millrace_run_start(run.handle));
    OK(millrace_run_wait(run.handle, -1));
  }
  const auto before = frames_of(input);
  const auto expected = frames_of(output);
  ASSERT_EQ(before.size(), expected.size());

  const OwnRun run(pipeline);
  const millrace_format format = format_of(before.front());
  OK(millrace_run_input_frames(run.handle, &format));
  OK(millrace_run_output_frames(run.handle));
  OK(millrace_run_set(run.handle, "structure", "sliding"));
  OK(millrace_run_start(run.handle));
  millrace_format made = MILLRACE_FORMAT(0, 0, MILLRACE_GRAY, 8);
  OK(millrace_run_output_format(run.handle, &made));
  int after = 0;
  OK(millrace_pipeline_neighbours(OwnPipeline(pipeline).handle, nullptr, &after));
  const auto ahead = static_cast<std::size_t>(after);
  const auto time_of = [](std::size_t i) { return 40 * static_cast<std::int64_t>(i) + 7; };
  for (std::size_t i = 0; i < before.size() + ahead; ++i) {
    if (i < before.size()) {
      Memory in(format, i % 2 == 0);
      in.fill(before[i]);
      in.frame.timestamp = time_of(i);
      OK(millrace_run_push(run.handle, &in.frame, -1));
    } else if (i == before.size()) {
      OK(millrace_run_end(run.handle));
    }
    if (i < ahead) continue;
    Memory out(made, i % 3 == 0);
    OK(millrace_run_pull(run.handle, &out.frame, -1));
    EXPECT_TRUE(out.holds(expected[i - ahead])) << "frame " << i - ahead;
    EXPECT_EQ(out.frame.timestamp, time_of(i - ahead));
  }
}

TEST_P(ApiFrames, OfTheRunsOwnMemoryAreTheSameAndOutliveIt) {
  const auto& [pipeline, input] = GetParam();
  struct Taken {
    millrace_frame frame = MILLRACE_FRAME;
    millrace_frame_memory* memory = nullptr;
  };
  millrace_format made = MILLRACE_FORMAT(0, 0, MILLRACE_GRAY, 8);
  std::vector<Memory> pulled;
  std::vector<Taken> taken;
  for (const bool copied : {true, false}) {
    const OwnRun run(pipeline);
    OK(millrace_run_input(run.handle, input));
    OK(millrace_run_output_frames(run.handle));
    OK(millrace_run_start(run.handle));
    OK(millrace_run_output_format(run.handle, &made));
    for (;;) {
      Memory out(made);
      Taken own{.memory = std::bit_cast<millrace_frame_memory*>(std::uintptr_t{1})};
      const auto code = copied ? millrace_run_pull(run.handle, &out.frame, -1)
                               : millrace_run_take(run.handle, &own.frame, &own.memory, -1);
      if (code == MILLRACE_END) {
        EXPECT_TRUE(copied || own.memory == nullptr);
        break;
      }
      OK(code);
      if (copied)
        pulled.push_back(std::move(out));
      else
        taken.push_back(own);
    }
    OK(millrace_run_wait(run.handle, -1));
  }
  ASSERT_EQ(taken.size(), pulled.size());
  ASSERT_FALSE(taken.empty());
  for (std::size_t i = 0; i < taken.size(); ++i) {
    Memory out(made);
    out.frame = taken[i].frame;
    EXPECT_TRUE(out.same(pulled[i])) << "frame " << i;
    EXPECT_EQ(taken[i].frame.timestamp, pulled[i].frame.timestamp);
  }
  // Write the frames and free them on another thread, once.
  std::jthread([&] {
    for (const Taken& own : taken) {
      *static_cast<std::byte*>(own.frame.planes[0]) = std::byte{1};
      EXPECT_EQ(millrace_frame_memory_free(own.memory), MILLRACE_OK) << millrace_error();
      EXPECT_EQ(millrace_frame_memory_free(own.memory), MILLRACE_USAGE);
    }
  }).join();
}

INSTANTIATE_TEST_SUITE_P(Formats, ApiFrames,
                         ::testing::Values(std::pair("blur", "test:37x23@4,gray"),
                                           std::pair("blur | [sobel_x, sobel_y] | magnitude", "test:64x48@3"),
                                           std::pair("crop(0.5)", "test:33x31@3,422p10"),
                                           std::pair("resize(20, 0) | difference", "test:33x31@3,gray"),
                                           std::pair("temporal_median(2) | transpose", "test:40x30@6"),
                                           std::pair("rotate(10)", "test:40x30@3,444p16"),
                                           std::pair("yuv2rgb | levels(0.1, 0.9) | rgb2yuv", "test:37x23@3"),
                                           std::pair("yuv2rgb | resize(20, 0)", "test:33x31@3,422p10"),
                                           std::pair("saturate(1.5)", "test:40x30@3")),  // luma is unchanged
                         [](const auto& of) { return "of_" + std::to_string(of.index); });

TEST_P(ApiFrames, ProcessedInPlaceAreTheSame) {
  const auto& [pipeline, input] = GetParam();
  const auto before = frames_of(input);
  const millrace_format format = format_of(before.front());
  int neighbours[2] = {};
  OK(millrace_pipeline_neighbours(OwnPipeline(pipeline).handle, &neighbours[0], &neighbours[1]));
  if (neighbours[0] + neighbours[1] > 0) {
    const OwnRun run(pipeline);
    OK(millrace_run_input_frames(run.handle, &format));
    OK(millrace_run_output_frames(run.handle));
    EXPECT_EQ(millrace_run_start_in_place(run.handle), MILLRACE_USAGE);
    EXPECT_THAT(millrace_error(), HasSubstr("neighbouring frames"));
    return;
  }
  std::vector<Memory> pulled;
  const auto run_all = [&](bool in_place) {
    const OwnRun run(pipeline);
    OK(millrace_run_input_frames(run.handle, &format));
    OK(millrace_run_output_frames(run.handle));
    OK(in_place ? millrace_run_start_in_place(run.handle) : millrace_run_start(run.handle));
    millrace_format made = MILLRACE_FORMAT(0, 0, MILLRACE_GRAY, 8);
    OK(millrace_run_output_format(run.handle, &made));
    for (std::size_t i = 0; i < before.size(); ++i) {
      Memory in(format, i % 2 == 0);
      Memory out(made, i % 3 == 0);
      in.fill(before[i]);
      in.frame.timestamp = 40 * static_cast<std::int64_t>(i) + 7;
      if (in_place) {
        OK(millrace_run_process(run.handle, &in.frame, &out.frame));
        EXPECT_TRUE(out.same(pulled[i])) << "frame " << i;
        EXPECT_EQ(out.frame.timestamp, in.frame.timestamp);
        EXPECT_TRUE(in.holds(before[i])) << "what is read is not written";
      } else {
        OK(millrace_run_push(run.handle, &in.frame, -1));
        OK(millrace_run_pull(run.handle, &out.frame, -1));
        pulled.push_back(std::move(out));
      }
    }
    OK(millrace_run_end(run.handle));
    if (!in_place) return;
    int64_t frames = 0;
    OK(millrace_run_progress(run.handle, &frames, nullptr));
    EXPECT_EQ(frames, std::ssize(before));
    OK(millrace_run_wait(run.handle, -1));
    const char* json = nullptr;
    OK(millrace_run_report(run.handle, &json));
    const auto report = nlohmann::json::parse(json);
    EXPECT_EQ(report["frames"], std::ssize(before));
    EXPECT_EQ(report["output_complete"], true);
    EXPECT_FALSE(report["decisions"].is_null());
    OK(millrace_run_explanation(run.handle, &json));
    EXPECT_THAT(json, HasSubstr("candidates"));
  };
  run_all(false);
  run_all(true);
}

// Memory next to an inaccessible page at its beginning or end.
class Guarded {
 public:
  Guarded(std::size_t bytes, bool at_end) : page_(static_cast<std::size_t>(sysconf(_SC_PAGESIZE))) {
    const std::size_t inside = (bytes + page_ - 1) / page_ * page_;
    size_ = inside + 2 * page_;
    mapped_ = static_cast<std::byte*>(mmap(nullptr, size_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    EXPECT_EQ(mprotect(mapped_ + page_, inside, PROT_READ | PROT_WRITE), 0);
    data = mapped_ + page_ + (at_end ? inside - bytes : 0);
  }
  ~Guarded() { munmap(mapped_, size_); }
  Guarded(const Guarded&) = delete;
  Guarded& operator=(const Guarded&) = delete;
  std::byte* data;

 private:
  std::size_t page_;
  std::size_t size_;
  std::byte* mapped_;
};

TEST(Api, TouchesNothingBesideTheFramesThatItProcessesInPlace) {
  for (const char* const pipeline :
       {"blur | [sobel_x, sobel_y] | magnitude", "threshold(0.5)", "crop(0.5) | blur", "rotate(40)",
        "resize(29, 53)", "curve([0, 0.1, 1, 0.9])", "yuv2rgb | levels(0.1, 0.9) | rgb2yuv"}) {
    for (const char* const structure : {"sequential", "tiled", "sliding"}) {
      for (const int bits : {8, 16}) {
        for (const bool at_end : {false, true}) {
          for (const auto& [width, height] : {std::pair(67, 41), std::pair(16, 128)}) {
            const OwnRun run(pipeline);
            const millrace_format format = MILLRACE_FORMAT(width, height, MILLRACE_GRAY, bits);
            OK(millrace_run_input_frames(run.handle, &format));
            OK(millrace_run_output_frames(run.handle));
            OK(millrace_run_set(run.handle, "structure", structure));
            OK(millrace_run_start_in_place(run.handle));
            millrace_format made = MILLRACE_FORMAT(0, 0, MILLRACE_GRAY, 8);
            OK(millrace_run_output_format(run.handle, &made));
            const auto bytes = [](const millrace_format& of) {
              return static_cast<std::size_t>(of.width) * static_cast<std::size_t>(of.height) *
                     (of.bits > 8 ? 2U : 1U);
            };
            const Guarded from(bytes(format), at_end);
            const Guarded to(bytes(made), at_end);
            millrace_frame in = MILLRACE_FRAME;
            in.planes[0] = from.data;
            in.strides[0] = std::ptrdiff_t{width} * (bits > 8 ? 2 : 1);
            millrace_frame out = MILLRACE_FRAME;
            out.planes[0] = to.data;
            out.strides[0] = std::ptrdiff_t{made.width} * (bits > 8 ? 2 : 1);
            for (int turn = 0; turn < 2; ++turn)
              OK(millrace_run_process(run.handle, &in, &out));
          }
        }
      }
    }
  }
}

TEST(Api, StopsARunInPlaceFromOutside) {
  const OwnRun run("blur");
  OK(millrace_run_input_frames(run.handle, &small_gray));
  OK(millrace_run_output_frames(run.handle));
  OK(millrace_run_start_in_place(run.handle));
  std::thread processing([&] {
    Memory in(small_gray);
    Memory out(small_gray);
    while (millrace_run_process(run.handle, &in.frame, &out.frame) == MILLRACE_OK) {
    }
    EXPECT_EQ(millrace_run_process(run.handle, &in.frame, &out.frame), MILLRACE_INTERRUPTED);
  });
  int64_t frames = 0;
  while (frames < 3)
    EXPECT_EQ(millrace_run_progress(run.handle, &frames, nullptr), MILLRACE_OK);
  EXPECT_EQ(millrace_run_stop(run.handle), MILLRACE_OK);
  processing.join();
  EXPECT_EQ(millrace_run_wait(run.handle, -1), MILLRACE_INTERRUPTED);
}

TEST(Api, PushesAndPullsInOneLoopWithManyFramesUnderWay) {
  const OwnRun run("threshold(0.5)");
  OK(millrace_run_input_frames(run.handle, &small_gray));
  OK(millrace_run_output_frames(run.handle));
  OK(millrace_run_set(run.handle, "frames-in-flight", "2"));
  OK(millrace_run_start(run.handle));
  Memory in(small_gray);
  Memory out(small_gray);
  const auto set = [&](int value) {
    *static_cast<unsigned char*>(in.frame.planes[0]) = value % 2 == 0 ? 255 : 0;
  };
  const auto got = [&] { return *static_cast<unsigned char*>(out.frame.planes[0]); };
  constexpr int all = 400;  // far more than both queues and the longest batch hold
  int pulled = 0;
  int refused = 0;
  for (int pushed = 0; pushed < all; ++pushed) {
    set(pushed);
    millrace_code code = MILLRACE_AGAIN;
    while ((code = millrace_run_push(run.handle, &in.frame, 0)) == MILLRACE_AGAIN) {
      ++refused;
      OK(millrace_run_pull(run.handle, &out.frame, -1));
      ASSERT_EQ(got(), pulled++ % 2 == 0 ? 255 : 0);
    }
    ASSERT_EQ(code, MILLRACE_OK) << millrace_error();
  }
  EXPECT_GT(refused, 0);
  OK(millrace_run_end(run.handle));
  while (millrace_run_pull(run.handle, &out.frame, -1) == MILLRACE_OK)
    ASSERT_EQ(got(), pulled++ % 2 == 0 ? 255 : 0);
  EXPECT_EQ(pulled, all);
  OK(millrace_run_wait(run.handle, -1));
}

TEST(Api, RunsSideBySideDoNotMix) {
  std::vector<std::jthread> threads;
  std::array<int, 3> right{};
  for (std::size_t t = 0; t < right.size(); ++t) {
    threads.emplace_back([t, &right] {
      const OwnRun run("threshold(0.5)");
      millrace_run_input_frames(run.handle, &small_gray);
      millrace_run_output_frames(run.handle);
      millrace_run_start(run.handle);
      Memory in(small_gray);
      Memory out(small_gray);
      for (int i = 0; i < 20; ++i) {
        const bool bright = (static_cast<std::size_t>(i) + t) % 3 == 0;
        *static_cast<unsigned char*>(in.frame.planes[0]) = bright ? 200 : 20;
        if (millrace_run_push(run.handle, &in.frame, -1) != MILLRACE_OK) return;
        if (millrace_run_pull(run.handle, &out.frame, -1) != MILLRACE_OK) return;
        right[t] += *static_cast<unsigned char*>(out.frame.planes[0]) == (bright ? 200 : 0);
      }
    });
  }
  threads.clear();
  EXPECT_THAT(right, ::testing::Each(20));
}

TEST(Api, AStopFromAnotherThreadKeepsWhatIsDone) {
  const TemporaryFolder folder;
  const std::string output = folder / "out.y4m";
  const OwnRun run("blur");
  OK(millrace_run_input(run.handle, "test:32x32@1000000"));
  OK(millrace_run_output(run.handle, output.c_str()));
  OK(millrace_run_start(run.handle));
  std::jthread stopper([&] {
    std::int64_t frames = 0;
    std::int64_t total = 0;
    while (frames < 20 && millrace_run_progress(run.handle, &frames, &total) == MILLRACE_OK)
      std::this_thread::yield();
    EXPECT_EQ(total, 1000000);
    millrace_run_stop(run.handle);
  });
  EXPECT_EQ(millrace_run_wait(run.handle, -1), MILLRACE_INTERRUPTED);
  EXPECT_THAT(millrace_error(), HasSubstr("interrupted after"));
  const char* json = nullptr;
  OK(millrace_run_report(run.handle, &json));
  const auto report = nlohmann::json::parse(json);
  EXPECT_GE(report["frames"], 20);
  EXPECT_EQ(report["frames"], frames_of(output).size());
  EXPECT_TRUE(report["decisions"].contains("events"));
}

TEST(Api, WhatShowsLaterIsToldByWhoeverWaits) {
  const OwnRun run("blur");
  OK(millrace_run_input(run.handle, "/nowhere/at all.mkv"));
  OK(millrace_run_output_frames(run.handle));
  OK(millrace_run_start(run.handle));
  millrace_format format = MILLRACE_FORMAT(0, 0, MILLRACE_GRAY, 8);
  EXPECT_NE(millrace_run_output_format(run.handle, &format), MILLRACE_OK);
  EXPECT_THAT(millrace_error(), HasSubstr("/nowhere/at all.mkv"));
  Memory out(small_gray);
  EXPECT_NE(millrace_run_pull(run.handle, &out.frame, -1), MILLRACE_OK);
  EXPECT_THAT(millrace_error(), HasSubstr("/nowhere/at all.mkv"));
  EXPECT_NE(millrace_run_wait(run.handle, -1), MILLRACE_OK);
}

TEST(Api, WaitIsRefusedWhereItWouldWaitForItsCaller) {
  const OwnRun run("blur");
  OK(millrace_run_input_frames(run.handle, &small_gray));
  OK(millrace_run_output_frames(run.handle));
  OK(millrace_run_start(run.handle));
  EXPECT_EQ(millrace_run_wait(run.handle, -1), MILLRACE_USAGE);
  EXPECT_THAT(millrace_error(), HasSubstr("end its input"));
  Memory frame(small_gray);
  OK(millrace_run_push(run.handle, &frame.frame, -1));
  OK(millrace_run_end(run.handle));
  EXPECT_EQ(millrace_run_wait(run.handle, -1), MILLRACE_USAGE);
  EXPECT_THAT(millrace_error(), HasSubstr("to be taken"));
  EXPECT_EQ(millrace_run_push(run.handle, &frame.frame, -1), MILLRACE_USAGE);
  // It succeeds once the only frame was pulled.
  OK(millrace_run_pull(run.handle, &frame.frame, -1));
  OK(millrace_run_wait(run.handle, -1));
  EXPECT_EQ(millrace_run_pull(run.handle, &frame.frame, -1), MILLRACE_END);
}

TEST(Api, MemoryThatIsFreedHoldsFramesToCome) {
  const OwnRun run("blur");
  OK(millrace_run_input(run.handle, "test:64x48@200"));
  OK(millrace_run_output_frames(run.handle));
  OK(millrace_run_set(run.handle, "structure", "tiled"));
  OK(millrace_run_start(run.handle));
  std::set<const void*> places;
  for (;;) {
    millrace_frame frame = MILLRACE_FRAME;
    millrace_frame_memory* memory = nullptr;
    const auto code = millrace_run_take(run.handle, &frame, &memory, -1);
    if (code == MILLRACE_END) break;
    OK(code);
    places.insert(frame.planes[0]);
    OK(millrace_frame_memory_free(memory));
  }
  EXPECT_LT(places.size(), 30U);
  millrace_frame frame = MILLRACE_FRAME;
  millrace_frame_memory* memory = nullptr;
  EXPECT_EQ(millrace_run_take(run.handle, nullptr, &memory, 0), MILLRACE_USAGE);
  EXPECT_EQ(millrace_run_take(run.handle, &frame, nullptr, 0), MILLRACE_USAGE);
  EXPECT_EQ(millrace_frame_memory_free(nullptr), MILLRACE_USAGE);
  memory = std::bit_cast<millrace_frame_memory*>(std::uintptr_t{1});
  EXPECT_EQ(millrace_run_take(nullptr, &frame, &memory, 0), MILLRACE_USAGE);
  EXPECT_EQ(memory, nullptr);
  frame.size = 8;
  EXPECT_EQ(millrace_run_take(run.handle, &frame, &memory, 0), MILLRACE_USAGE);
}

TEST(Api, AfterAStopFramesThatNobodyTakesAreDropped) {
  const OwnRun run("blur");
  OK(millrace_run_input_frames(run.handle, &small_gray));
  OK(millrace_run_output_frames(run.handle));
  OK(millrace_run_start(run.handle));
  const Memory frame(small_gray);
  OK(millrace_run_push(run.handle, &frame.frame, -1));
  OK(millrace_run_stop(run.handle));
  EXPECT_EQ(millrace_run_wait(run.handle, -1), MILLRACE_INTERRUPTED);
  EXPECT_EQ(millrace_run_push(run.handle, &frame.frame, -1), MILLRACE_INTERRUPTED);
}

TEST(Api, FreeingARunEndsTheWaitsOfOthers) {
  auto run = std::make_unique<OwnRun>("blur");
  millrace_run* const handle = run->handle;
  OK(millrace_run_input_frames(handle, &small_gray));
  OK(millrace_run_output_frames(handle));
  OK(millrace_run_start(handle));
  std::atomic<bool> freed = false;
  std::jthread pusher([handle, &freed] {
    const Memory in(small_gray);
    millrace_code pushed = MILLRACE_OK;
    // Refused while the other thread is in push.
    while (pushed == MILLRACE_OK || (pushed == MILLRACE_USAGE && !freed))
      pushed = millrace_run_push(handle, &in.frame, -1);
  });
  Memory out(small_gray);
  OK(millrace_run_pull(handle, &out.frame, -1));
  // It fills the queue and waits. Meanwhile other threads may not push.
  while (millrace_run_push(handle, &out.frame, 0) != MILLRACE_USAGE)
    std::this_thread::yield();
  EXPECT_THAT(millrace_error(), HasSubstr("another thread"));
  freed = true;
  run.reset();
  pusher.join();
  EXPECT_EQ(millrace_run_pull(handle, &out.frame, -1), MILLRACE_USAGE);
}

// Memory that ends where a struct of the told size would.
class EndOfMemory {
 public:
  EndOfMemory() {
    void* const pages = mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED) throw std::bad_alloc();
    pages_ = static_cast<std::byte*>(pages);
    mprotect(pages_ + page, page, PROT_NONE);
  }
  ~EndOfMemory() { munmap(pages_, 2 * page); }
  EndOfMemory(const EndOfMemory&) = delete;
  EndOfMemory& operator=(const EndOfMemory&) = delete;
  // A struct that says `size`, of which `bytes` exist.
  void* place(std::size_t size, std::size_t bytes) {
    std::memset(pages_, 0x5a, page);
    std::byte* const at = pages_ + page - bytes;
    std::memcpy(at, &size, sizeof size);
    return at;
  }
  [[nodiscard]] std::vector<std::byte> content() const { return {pages_, pages_ + page}; }

 private:
  static constexpr std::size_t page = 4096;
  std::byte* pages_ = nullptr;
};

// Every function that fills a struct of the caller.
TEST(Api, AStructOfAnotherSizeIsRefusedAndNotTouched) {
  const OwnPipeline pipeline("blur");
  const OwnRun from_file("blur");
  OK(millrace_run_input(from_file.handle, "test:16x8@3"));
  OK(millrace_run_output_frames(from_file.handle));
  OK(millrace_run_start(from_file.handle));
  const OwnRun in_place("blur");
  OK(millrace_run_input_frames(in_place.handle, &small_gray));
  OK(millrace_run_output_frames(in_place.handle));
  OK(millrace_run_start_in_place(in_place.handle));
  Memory in(small_gray);
  millrace_frame_memory* memory = nullptr;
  struct Filler {
    const char* name;
    std::size_t size;
    std::function<millrace_code(void*)> fill;
  };
  const std::vector<Filler> fillers{
      {"pipeline_format", sizeof(millrace_format),
       [&](void* made) {
         return millrace_pipeline_format(pipeline.handle, &small_gray, nullptr,
                                         static_cast<millrace_format*>(made));
       }},
      {"run_output_format", sizeof(millrace_format),
       [&](void* made) {
         return millrace_run_output_format(from_file.handle, static_cast<millrace_format*>(made));
       }},
      {"run_pull", sizeof(millrace_frame),
       [&](void* made) {
         return millrace_run_pull(from_file.handle, static_cast<millrace_frame*>(made), -1);
       }},
      {"run_take", sizeof(millrace_frame),
       [&](void* made) {
         return millrace_run_take(from_file.handle, static_cast<millrace_frame*>(made), &memory, -1);
       }},
      {"run_process", sizeof(millrace_frame), [&](void* made) {
         return millrace_run_process(in_place.handle, &in.frame, static_cast<millrace_frame*>(made));
       }}};
  EndOfMemory end;
  for (const Filler& filler : fillers)
    for (const std::size_t size :
         {std::size_t{0}, std::size_t{8}, filler.size - 8, filler.size + 8, SIZE_MAX}) {
      SCOPED_TRACE(filler.name + (" " + std::to_string(size)));
      void* const made = end.place(size, std::clamp(size, sizeof size, filler.size + 8));
      const auto before = end.content();
      EXPECT_EQ(filler.fill(made), MILLRACE_USAGE);
      EXPECT_THAT(millrace_error(), HasSubstr("the size of the"));
      EXPECT_THAT(millrace_error(), HasSubstr("begin with MILLRACE_F"));
      EXPECT_EQ(end.content(), before);
    }
  EXPECT_EQ(memory, nullptr);
  // No frame was lost.
  Memory out(MILLRACE_FORMAT(16, 8, MILLRACE_420, 8));
  for (int i = 0; i < 3; ++i)
    OK(millrace_run_pull(from_file.handle, &out.frame, -1));
}

// Whichever comes first, the process goes on, and the run is either started and ended or not started.
TEST(Api, ARunMayBeFreedWhileAnotherThreadStartsIt) {
  const OwnPipeline pipeline("blur");
  for (int round = 0; round < 300; ++round) {
    millrace_run* run = nullptr;
    OK(millrace_run_create(pipeline.handle, &run));
    OK(millrace_run_input(run, "test:64x48@30"));
    std::barrier together(4);
    std::vector<std::jthread> starters;
    for (int i = 0; i < 3; ++i)
      starters.emplace_back([&] {
        together.arrive_and_wait();
        EXPECT_THAT(millrace_run_start(run), AnyOf(MILLRACE_OK, MILLRACE_USAGE)) << millrace_error();
      });
    together.arrive_and_wait();
    OK(millrace_run_free(run));
  }
}

TEST(Api, HandlesOfAnotherProcessAreRefusedAndItsOwnServe) {
  MILLRACE_NOT_FOR_RACES();
  const OwnRun run("blur");
  OK(millrace_run_input(run.handle, "test:32x32@3"));
  OK(millrace_run_start(run.handle));
  OK(millrace_run_wait(run.handle, -1));
  const pid_t child = fork();
  if (child == 0) {
    const bool refused = millrace_run_progress(run.handle, nullptr, nullptr) == MILLRACE_USAGE;
    millrace_pipeline* own = nullptr;
    millrace_run* fresh = nullptr;
    const bool served = millrace_pipeline_create("blur", &own) == MILLRACE_OK &&
                        millrace_run_create(own, &fresh) == MILLRACE_OK &&
                        millrace_run_set(fresh, "no-profile", "true") == MILLRACE_OK &&
                        millrace_run_input(fresh, "test:32x32@3") == MILLRACE_OK &&
                        millrace_run_start(fresh) == MILLRACE_OK &&
                        millrace_run_wait(fresh, -1) == MILLRACE_OK;
    _exit(refused && served ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

// Two versions of the library in one process, for example from a Python package and a plug-in.
TEST(Handles, OfAnotherCopyOfTheLibraryAreRefused) {
  struct Handle;
  constexpr std::size_t page = 4096;
  alignas(page) static std::array<char, 2 * page> libraries;
  static api::Handles<Handle, int> ours("a thing", 0x1001, libraries.data());  // never freed, as documented
  static api::Handles<Handle, int> theirs("a thing", 0x1001, libraries.data() + page);
  const std::array handles{ours.add(std::make_shared<int>(1)), theirs.add(std::make_shared<int>(2))};
  EXPECT_THAT(theirs.find(handles[0]).error().message, HasSubstr("belongs to another library"));
  EXPECT_FALSE(ours.remove(handles[1]));
  EXPECT_EQ(**ours.find(handles[0]), 1);
  EXPECT_EQ(**theirs.remove(handles[1]), 2);
  EXPECT_FALSE(theirs.remove(handles[1]));
}

TEST(Api, WhatIsWrongIsToldInOneLineOfUtf8) {
  const OwnRun run("blur");
  OK(millrace_run_input(run.handle, "/nowhere/\xff\n\x1b[31mred"));
  OK(millrace_run_start(run.handle));
  EXPECT_EQ(millrace_run_wait(run.handle, -1), MILLRACE_USAGE);
  EXPECT_THAT(millrace_error(), HasSubstr("/nowhere/\\xff\\x0a\\x1b[31mred"));
}

TEST(Api, AFileThatExistsIsReplacedOnlyWhereTheOptionSaysSo) {
  const TemporaryFolder folder;
  const std::string output = folder / "out.y4m";
  for (const auto& [force, code] :
       {std::pair{"false", MILLRACE_OK}, {"false", MILLRACE_USAGE}, {"true", MILLRACE_OK}}) {
    const OwnRun run("blur");
    OK(millrace_run_input(run.handle, "test:16x16@2"));
    OK(millrace_run_output(run.handle, output.c_str()));
    OK(millrace_run_set(run.handle, "force", force));
    ASSERT_EQ(millrace_run_start(run.handle), code) << millrace_error();
    if (code == MILLRACE_OK) {
      OK(millrace_run_wait(run.handle, -1));
    } else {
      EXPECT_THAT(millrace_error(), HasSubstr("option force"));
    }
  }
}

TEST(Api, TellsTheFormatOfPipelinesThatReadASecondVideo) {
  const OwnPipeline pipeline("[input, second] | blend(screen, 0.5) | crop(0.5)");
  millrace_format made = small_gray;
  OK(millrace_pipeline_format(pipeline.handle, &small_gray, nullptr, &made));
  EXPECT_EQ(made.width, small_gray.width / 2);
}

TEST(Api, TellsTheShapeOfTheSamplesThatAPipelineMakes) {
  struct Case {
    const char* pipeline;
    std::array<std::int32_t, 2> of, made;
  };
  for (const auto& [text, of, made] :
       {Case{"blur", {12, 11}, {12, 11}}, Case{"crop(0.5)", {12, 11}, {12, 11}},
        Case{"resize(8, 8)", {1, 1}, {2, 1}}, Case{"resize(8, 4)", {4, 3}, {4, 3}},
        Case{"transpose", {4, 3}, {3, 4}}, Case{"resize(8, 8)", {0, 1}, {0, 1}}}) {
    std::array<std::int32_t, 2> told{};
    OK(millrace_pipeline_aspect(OwnPipeline(text).handle, &small_gray, of.data(), told.data()));
    EXPECT_EQ(told, made) << text;
  }
  const OwnPipeline pipeline("blur");
  const std::array<std::int32_t, 2> none{1, 0};
  std::array<std::int32_t, 2> told{};
  EXPECT_EQ(millrace_pipeline_aspect(pipeline.handle, &small_gray, none.data(), told.data()), MILLRACE_USAGE);
  EXPECT_EQ(millrace_pipeline_aspect(pipeline.handle, &small_gray, nullptr, told.data()), MILLRACE_USAGE);
  EXPECT_EQ(millrace_pipeline_aspect(pipeline.handle, &small_gray, told.data(), nullptr), MILLRACE_USAGE);
}

TEST(Api, ASecondVideoIsAnOptionOfRunsThatReadVideos) {
  const char* const blend = "[input, second] | blend(average)";
  const auto before = frames_of("test:32x24@4");
  const millrace_format format = format_of(before.front());
  {
    const OwnRun run(blend);
    OK(millrace_run_input_frames(run.handle, &format));
    OK(millrace_run_output_frames(run.handle));
    OK(millrace_run_set(run.handle, "second", "test:32x24@4"));
    OK(millrace_run_start(run.handle));
    for (const video::Frame& frame : before) {
      Memory in(format, true);
      in.fill(frame);
      OK(millrace_run_push(run.handle, &in.frame, -1));
      Memory out(format, true);
      OK(millrace_run_pull(run.handle, &out.frame, -1));
      EXPECT_TRUE(out.holds(frame)) << "the mean of two that are equal";
    }
  }
  for (const char* second : {"", "test:32x24@4"}) {
    const OwnRun run(blend);
    OK(millrace_run_input_frames(run.handle, &format));
    OK(millrace_run_output_frames(run.handle));
    OK(millrace_run_set(run.handle, "second", second));
    EXPECT_EQ(millrace_run_start_in_place(run.handle), MILLRACE_USAGE);
    EXPECT_THAT(millrace_error(), HasSubstr("reads a second video"));
  }
}

// An invalid call, and words of its message.
struct Wrong {
  const char* name;
  const char* words;
  std::function<millrace_code(millrace_pipeline*, millrace_run*, Memory&)> call;
};
class ApiRefuses : public ::testing::TestWithParam<Wrong> {};

TEST_P(ApiRefuses, InOneLineAndGoesOn) {
  const OwnPipeline pipeline("blur");
  const OwnRun run("blur");
  OK(millrace_run_input_frames(run.handle, &small_gray));
  OK(millrace_run_output_frames(run.handle));
  Memory memory(small_gray);
  EXPECT_EQ(GetParam().call(pipeline.handle, run.handle, memory), MILLRACE_USAGE);
  EXPECT_THAT(millrace_error(), HasSubstr(GetParam().words));
  EXPECT_THAT(millrace_error(), ::testing::Not(HasSubstr("\n")));
  const char* text = nullptr;
  OK(millrace_pipeline_text(pipeline.handle, &text));
  EXPECT_STREQ(millrace_error(), "");
}

millrace_code format_refused(millrace_run* run, const std::function<void(millrace_format&)>& spoil) {
  millrace_format format = small_gray;
  spoil(format);
  return millrace_run_input_frames(run, &format);
}

millrace_code with_filters(const char* filters) {
  millrace_pipeline* made = nullptr;
  return millrace_pipeline_create_with("mine", filters, &made);
}

TEST(Api, QuestionsAboutModelsEndWhenTheirCallerSaysSo) {
  using Ask = millrace_code (*)(const char*, int (*)(void*), void*, const char**);
  std::string stages = "first 1us";
  for (int s = 1; s < 200; ++s)
    stages += fmt::format("; s{} {} 1us", s, s % 50 == 0 ? "serial" : "");
  const std::string of_many_stages = fmt::format(
      R"({{"pipeline": "{}", "threads": [200], "strategies": ["pools"], "formulas": true}})", stages);
  const std::string to_simulate =
      fmt::format(R"({{"pipeline": "{}", "cores": 200, "strategy": "pools", "items": 1}})", stages);
  for (
      const auto& [ask, question] :
      {std::pair<Ask, const char*>{millrace_simulate_until,
                                   R"({"pipeline": "a 1ms; b serial 1ms", "cores": 2, "items": 900000000})"},
       {millrace_predict_until,
        R"({"pipeline": "a 1ms outputs 100; b serial 1ms", "threads": [900, 901, 902, 903, 904, 905, 906, 907]})"},
       // A single row, which formulas alone take long for.
       {millrace_predict_until, of_many_stages.c_str()},
       {millrace_simulate_until, to_simulate.c_str()}}) {
    int questions = 0;
    const auto third = [](void* count) { return ++*static_cast<int*>(count) == 3 ? 1 : 0; };
    const char* answer = "";
    EXPECT_EQ(ask(question, third, &questions, &answer), MILLRACE_INTERRUPTED) << millrace_error();
    EXPECT_EQ(questions, 3);
    EXPECT_EQ(answer, nullptr);
    EXPECT_THAT(millrace_error(), HasSubstr("interrupted"));
  }
  const char* answer = nullptr;
  OK(millrace_simulate_until(R"({"pipeline": "a 1ms", "cores": 1, "items": 100})", nullptr, nullptr,
                             &answer));
  EXPECT_THAT(answer, HasSubstr("items"));
}

millrace_code asked(millrace_code (*answer)(const char*, const char**), const char* question) {
  const char* text = nullptr;
  return answer(question, &text);
}

// Pushes the frame to a run that has been started.
millrace_code frame_refused(millrace_run* run, Memory& memory,
                            const std::function<void(millrace_frame&)>& spoil) {
  EXPECT_EQ(millrace_run_start(run), MILLRACE_OK) << millrace_error();
  spoil(memory.frame);
  return millrace_run_push(run, &memory.frame, -1);
}

INSTANTIATE_TEST_SUITE_P(
    Calls, ApiRefuses,
    ::testing::Values(
        Wrong{"no_pipeline", "NULL", [](auto*, auto*, Memory&) { return millrace_pipeline_free(nullptr); }},
        Wrong{"no_run", "NULL", [](auto*, auto*, Memory&) { return millrace_run_stop(nullptr); }},
        Wrong{"a_pipeline_for_a_run", "not a handle of a run",
              [](auto* pipeline, auto*, Memory&) {
                return millrace_run_start(reinterpret_cast<millrace_run*>(pipeline));
              }},
        Wrong{"an_address", "not a handle of a run",
              [](auto*, auto*, Memory& m) { return millrace_run_start(reinterpret_cast<millrace_run*>(&m)); }},
        Wrong{"no_text", "text of the pipeline is NULL",
              [](auto*, auto*, Memory&) {
                millrace_pipeline* made = nullptr;
                return millrace_pipeline_create(nullptr, &made);
              }},
        Wrong{"no_place", "place of the pipeline is NULL",
              [](auto*, auto*, Memory&) { return millrace_pipeline_create("blur", nullptr); }},
        Wrong{"a_misspelt_filter", "blur",
              [](auto*, auto*, Memory&) {
                millrace_pipeline* made = nullptr;
                return millrace_pipeline_create("bluur", &made);
              }},
        Wrong{"no_question", "object of JSON", [](auto*, auto*, Memory&) { return asked(millrace_predict, R"({"pipeline":)"); }},
        Wrong{"a_question_that_is_a_list", "object of JSON", [](auto*, auto*, Memory&) { return asked(millrace_predict, R"([1])"); }},
        Wrong{"a_misspelt_member", "did you mean 'pipeline'", [](auto*, auto*, Memory&) { return asked(millrace_predict, R"({"pipelin": "work 1ms"})"); }},
        Wrong{"no_stages", "give a pipeline", [](auto*, auto*, Memory&) { return asked(millrace_predict, R"({"threads": [1]})"); }},
        Wrong{"half_a_thread", "threads is a whole number from 1 to 1024", [](auto*, auto*, Memory&) { return asked(millrace_predict, R"({"pipeline": "work 1ms", "threads": [1, 2.5]})"); }},
        Wrong{"too_many_threads", "whole number", [](auto*, auto*, Memory&) { return asked(millrace_predict, R"({"pipeline": "work 1ms", "threads": 4000})"); }},
        Wrong{"a_strategy_that_is_none", "'luck' is not a strategy", [](auto*, auto*, Memory&) { return asked(millrace_predict, R"({"pipeline": "work 1ms", "strategies": ["luck"]})"); }},
        Wrong{"a_flag_that_is_a_number", "sticky is true or false", [](auto*, auto*, Memory&) { return asked(millrace_predict, R"({"pipeline": "work 1ms", "sticky": 1})"); }},
        Wrong{"a_stage_without_a_time", "work", [](auto*, auto*, Memory&) { return asked(millrace_simulate, R"({"pipeline": "work"})"); }},
        Wrong{"a_machine_and_cores", "not both", [](auto*, auto*, Memory&) { return asked(millrace_simulate, R"({"pipeline": "work 1ms", "cores": 2, "machine": "core:2"})"); }},
        Wrong{"a_machine_that_is_none", "cheese", [](auto*, auto*, Memory&) { return asked(millrace_simulate, R"({"pipeline": "work 1ms", "machine": "cheese"})"); }},
        Wrong{"no_items", "items is a whole number", [](auto*, auto*, Memory&) { return asked(millrace_simulate, R"({"pipeline": "work 1ms", "cores": 1, "items": 0})"); }},
        Wrong{"filters_that_are_no_json", "cannot be read", [](auto*, auto*, Memory&) { return with_filters(R"([)"); }},
        Wrong{"filters_without_a_formula", "formula", [](auto*, auto*, Memory&) { return with_filters(R"([{"name": "mine"}])"); }},
        Wrong{"filters_that_are_an_object", "array", [](auto*, auto*, Memory&) { return with_filters(R"({})"); }},
        Wrong{"a_filter_whose_name_is_a_number", "cannot be read", [](auto*, auto*, Memory&) { return with_filters(R"([{"name": 1, "formula": ""}])"); }},
        Wrong{"a_filter_of_a_name_that_is_taken", "already", [](auto*, auto*, Memory&) { return with_filters(R"([{"name": "blur", "formula": "inputs 1 coefficients 0; pixel 0 0 0"}])"); }},
        Wrong{"a_formula_that_is_none", "filter 'mine': no formula", [](auto*, auto*, Memory&) { return with_filters(R"([{"name": "mine", "formula": "x + 1"}])"); }},
        Wrong{"a_parameter_without_a_range", "minimum", [](auto*, auto*, Memory&) { return with_filters(R"([{"name": "mine", "parameters": [{"name": "t"}], "formula": "inputs 1 coefficients 0; pixel 0 0 0"}])"); }},
        Wrong{"a_filter_of_a_frame_too_far", "more than 32 away", [](auto*, auto*, Memory&) { return with_filters(R"([{"name": "mine", "frames": [99999999999], "formula": "inputs 1 coefficients 0; pixel 0 0 0"}])"); }},
        Wrong{"a_filter_of_a_frame_beyond_all_numbers", "more than 32 away", [](auto*, auto*, Memory&) { return with_filters(R"([{"name": "mine", "frames": [-1e300], "formula": "inputs 1 coefficients 0; pixel 0 0 0"}])"); }},
        Wrong{"a_filter_of_half_a_frame", "whole numbers, not 0.5", [](auto*, auto*, Memory&) { return with_filters(R"([{"name": "mine", "frames": [0.5], "formula": "inputs 1 coefficients 0; pixel 0 0 0"}])"); }},
        Wrong{"a_filter_of_half_a_size", "height", [](auto*, auto*, Memory&) { return with_filters(R"([{"name": "mine", "size": {"width": "inputs 0 coefficients 0; width"}, "formula": "inputs 1 coefficients 2; column; row; pixel_at 0 1 0"}])"); }},
        Wrong{"a_size_of_luma_alone", "has a size and passes chroma", [](auto*, auto*, Memory&) { return with_filters(R"([{"name": "mine", "chroma": "passes", "size": {"width": "inputs 0 coefficients 0; width; add 0 0", "height": "inputs 0 coefficients 0; height"}, "formula": "inputs 1 coefficients 2; column; row; pixel_at 0 1 0"}])"); }},
        Wrong{"a_table_of_words", "number", [](auto*, auto*, Memory&) { return with_filters(R"([{"name": "mine", "table": ["x"], "formula": "inputs 1 coefficients 0; pixel 0 0 0; table 0"}])"); }},
        Wrong{"chroma_of_another_word", "filtered, passes or neutral", [](auto*, auto*, Memory&) { return with_filters(R"([{"name": "mine", "chroma": "blue", "formula": "inputs 1 coefficients 0; pixel 0 0 0"}])"); }},
        Wrong{"a_misspelt_option", "did you mean 'threads'",
              [](auto*, auto* run, Memory&) { return millrace_run_set(run, "thread", "2"); }},
        Wrong{"a_number_out_of_range", "from 0 to 63",
              [](auto*, auto* run, Memory&) { return millrace_run_set(run, "crf", "64"); }},
        Wrong{"a_flag_of_another_word", "true or false",
              [](auto*, auto* run, Memory&) { return millrace_run_set(run, "force", "yes"); }},
        Wrong{"an_unknown_structure", "spiral",
              [](auto*, auto* run, Memory&) {
                millrace_run_set(run, "structure", "spiral");
                return millrace_run_start(run);
              }},
        Wrong{"frames_twice", "loop",
              [](auto*, auto* run, Memory&) {
                millrace_run_set(run, "loop", "2");
                return millrace_run_start(run);
              }},
        Wrong{"standard_input", "no standard input",
              [](auto*, auto* run, Memory&) { return millrace_run_input(run, "-"); }},
        Wrong{"no_input", "no input",
              [](auto* pipeline, auto*, Memory&) {
                millrace_run* run = nullptr;
                millrace_run_create(pipeline, &run);
                const millrace_code code = millrace_run_start(run);
                const std::string why = millrace_error();
                millrace_run_free(run);
                millrace_run_start(run);
                EXPECT_THAT(millrace_error(), HasSubstr("freed"));
                EXPECT_THAT(why, HasSubstr("no input"));
                // Repeated for the message.
                millrace_run_create(pipeline, &run);
                millrace_run_start(run);
                return code;
              }},
        Wrong{"started_twice", "already",
              [](auto*, auto* run, Memory&) {
                millrace_run_start(run);
                return millrace_run_start(run);
              }},
        Wrong{"an_option_too_late", "has been started",
              [](auto*, auto* run, Memory&) {
                millrace_run_start(run);
                return millrace_run_set(run, "threads", "1");
              }},
        Wrong{"a_push_too_early", "has not been started",
              [](auto*, auto* run, Memory& m) { return millrace_run_push(run, &m.frame, -1); }},
        Wrong{"a_push_to_a_run_in_place", "in place",
              [](auto*, auto* run, Memory& m) {
                millrace_run_start_in_place(run);
                return millrace_run_push(run, &m.frame, -1);
              }},
        Wrong{"a_frame_for_a_run_that_is_not_in_place", "not started in place",
              [](auto*, auto* run, Memory& m) {
                millrace_run_start(run);
                Memory out(small_gray);
                return millrace_run_process(run, &m.frame, &out.frame);
              }},
        Wrong{"no_frame_to_write_to", "frame is NULL",
              [](auto*, auto* run, Memory& m) {
                millrace_run_start_in_place(run);
                return millrace_run_process(run, &m.frame, nullptr);
              }},
        Wrong{"a_file_in_place", "both ends",
              [](auto*, auto* run, Memory&) {
                millrace_run_output(run, "null");
                return millrace_run_start_in_place(run);
              }},
        Wrong{"some_frames_in_place", "frames, start, end",
              [](auto*, auto* run, Memory&) {
                millrace_run_set(run, "frames", "3");
                return millrace_run_start_in_place(run);
              }},
        Wrong{"a_wait_for_frames_in_place", "end its input",
              [](auto*, auto* run, Memory&) {
                millrace_run_start_in_place(run);
                return millrace_run_wait(run, -1);
              }},
        Wrong{"a_report_too_early", "not been started",
              [](auto*, auto* run, Memory&) {
                const char* json = nullptr;
                return millrace_run_report(run, &json);
              }},
        Wrong{"a_format_of_another_size", "size of the format",
              [](auto*, auto* run, Memory&) { return format_refused(run, [](auto& f) { f.size = 8; }); }},
        Wrong{"no_width", "0x8", [](auto*, auto* run, Memory&) { return format_refused(run, [](auto& f) { f.width = 0; }); }},
        Wrong{"a_huge_height", "16x40000",
              [](auto*, auto* run, Memory&) { return format_refused(run, [](auto& f) { f.height = 40000; }); }},
        Wrong{"an_unknown_chroma", "chroma 4",
              [](auto*, auto* run, Memory&) { return format_refused(run, [](auto& f) { f.chroma = 4; }); }},
        Wrong{"too_many_bits", "17 bits",
              [](auto*, auto* run, Memory&) { return format_refused(run, [](auto& f) { f.bits = 17; }); }},
        Wrong{"a_rate_of_nothing", "rate",
              [](auto*, auto* run, Memory&) { return format_refused(run, [](auto& f) { f.rate[1] = 0; }); }},
        Wrong{"a_plane_of_nothing", "plane 0 of the frame is NULL",
              [](auto*, auto* run, Memory& m) {
                return frame_refused(run, m, [](auto& frame) { frame.planes[0] = nullptr; });
              }},
        Wrong{"a_short_stride", "stride of plane 0 is 15",
              [](auto*, auto* run, Memory& m) {
                return frame_refused(run, m, [](auto& frame) { frame.strides[0] = 15; });
              }},
        Wrong{"a_time_without_a_base", "time base",
              [](auto*, auto* run, Memory& m) {
                return frame_refused(run, m, [](auto& frame) { frame.timestamp = 3; });
              }},
        Wrong{"a_sample_above_its_bits", "above the 1023 of 10 bits",
              [](auto*, auto* run, Memory&) {
                const millrace_format ten = MILLRACE_FORMAT(16, 8, MILLRACE_GRAY, 10);
                millrace_run_input_frames(run, &ten);
                Memory wide(ten);
                return frame_refused(run, wide, [](auto& frame) {
                  *static_cast<std::uint16_t*>(frame.planes[0]) = 1024;
                });
              }}),
    [](const auto& of) { return std::string(of.param.name); });

}  // namespace
