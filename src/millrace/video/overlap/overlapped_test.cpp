#include "millrace/base/error/clock.h"
#include "millrace/base/file/input_file.h"
#include "millrace/base/file/output_file.h"
#include "millrace/base/testing/thread_sleeps_testing.h"
#include "millrace/video/frame/frame_pool.h"
#include "millrace/video/overlap/overlapped_reader.h"
#include "millrace/video/overlap/overlapped_writer.h"
#include "millrace/video/video_testing.h"
#include "millrace/video/y4m/y4m_reader.h"
#include "millrace/video/y4m/y4m_writer.h"

#include <array>
#include <atomic>
#include <semaphore>
#include <thread>
#include <unistd.h>

#include <gtest/gtest.h>

namespace millrace::video {
namespace {

using namespace millrace::video::testing;

constexpr FrameFormat small{.width = 8, .height = 8};

Frame numbered(std::int64_t index) {
  Frame frame(small);
  frame.index = index;
  return frame;
}

// --- FrameQueue

TEST(FrameQueue, KeepsTheOrderThroughManyFrames) {
  FrameQueue queue;
  std::thread producer([&] {
    for (int index = 0; index < 2000; ++index)
      if (!queue.push(numbered(index))) return;
    queue.finish();
  });
  std::int64_t expected = 0;
  for (;; ++expected) {
    EXPECT_LE(queue.size(), queue_depth);
    auto frame = queue.pop();
    ASSERT_TRUE(frame);
    if (!*frame) break;
    EXPECT_EQ((*frame)->index, expected);
  }
  producer.join();
  EXPECT_EQ(expected, 2000);
}

TEST(FrameQueue, MakesThePusherWaitWhenFull) {
  FrameQueue queue;
  std::atomic<int> pushed = 0;  // only a count that is polled, so relaxed order would do
  std::atomic<pid_t> producing = 0;
  std::thread producer([&] {
    producing = gettid();
    while (pushed < 5 && queue.push(numbered(pushed)))
      ++pushed;
  });
  while (queue.size() < queue_depth)
    std::this_thread::yield();
  EXPECT_TRUE(come_to_rest([&](pid_t thread, const ThreadSleeps&) { return thread == producing; }));
  EXPECT_EQ(queue.size(), queue_depth);
  EXPECT_LE(pushed, 2);
  for (int index = 0; index < 5; ++index)
    EXPECT_EQ((**queue.pop()).index, index);
  producer.join();
}

TEST(FrameQueue, GivesTheFramesBeforeTheError) {
  FrameQueue queue;
  ASSERT_TRUE(queue.push(numbered(0)));
  ASSERT_TRUE(queue.push(numbered(1)));
  queue.finish(failure("broken"));
  EXPECT_EQ((**queue.pop()).index, 0);
  EXPECT_EQ((**queue.pop()).index, 1);
  for (int again = 0; again < 2; ++again) {
    const auto end = queue.pop();
    ASSERT_FALSE(end);
    EXPECT_EQ(end.error().message, "broken");
  }
}

TEST(FrameQueue, EndsEveryWaitWhenClosed) {
  FrameQueue full;
  ASSERT_TRUE(full.push(numbered(0)));
  ASSERT_TRUE(full.push(numbered(1)));
  std::thread pusher([&] { EXPECT_FALSE(full.push(numbered(2))); });
  full.close();
  pusher.join();
  EXPECT_EQ(full.size(), 0U);
  EXPECT_FALSE(full.push(numbered(3)));

  FrameQueue empty;
  std::thread popper([&] { EXPECT_FALSE(*empty.pop()); });
  empty.close();
  popper.join();
}

TEST(FrameQueue, HasRoomForMoreOnceItIsDeeper) {
  FrameQueue queue;
  ASSERT_TRUE(queue.push(numbered(0)));
  ASSERT_TRUE(queue.push(numbered(1)));
  // Must work whether or not the pusher already waits.
  std::thread pusher([&] { EXPECT_TRUE(queue.push(numbered(2))); });
  queue.set_depth(4);
  pusher.join();
  ASSERT_TRUE(queue.push(numbered(3)));
  EXPECT_EQ(queue.size(), 4U);
}

TEST(FrameQueue, KeepsWhatItHoldsWhenItIsLessDeep) {
  FrameQueue queue(4);
  for (int index = 0; index < 4; ++index)
    ASSERT_TRUE(queue.push(numbered(index)));
  queue.set_depth(2);
  std::thread pusher([&] { EXPECT_TRUE(queue.push(numbered(4))); });
  for (int index = 0; index < 5; ++index) {
    EXPECT_EQ((**queue.pop()).index, index);
    if (index > 0) {
      EXPECT_LE(queue.size(), 3U);
    }
  }
  pusher.join();
}

TEST(FrameQueue, IsAsDeepAsFramesAreProcessedSideBySide) {
  EXPECT_EQ(queue_depth_for(1), queue_depth);
  EXPECT_EQ(queue_depth_for(2), 2U);
  EXPECT_EQ(queue_depth_for(4), 4U);
  EXPECT_EQ(queue_depth_for(64), 64U);
}

// --- OverlappedReader

// Delivers numbered frames, then fails. Counts the requests.
class CountingReader final : public FrameReader {
 public:
  CountingReader(int frames, std::atomic<int>& asked) : frames_(frames), asked_(asked), pool_(small) {}
  [[nodiscard]] const FrameFormat& format() const override { return small; }
  [[nodiscard]] Result<std::optional<Frame>> next() override {
    if (index_ == frames_) return failure("frame {} is damaged", index_);
    Frame frame = *pool_.acquire();
    frame.index = index_++;
    ++asked_;
    return std::optional(std::move(frame));
  }

 private:
  int frames_;
  int index_ = 0;
  std::atomic<int>& asked_;
  FramePool pool_;
};

TEST(OverlappedReader, ReadsAheadNoFurtherThanTheQueueIsDeep) {
  std::atomic<int> asked = 0;
  OverlappedReader reader(std::make_unique<CountingReader>(100, asked));
  for (int taken = 0; taken < 100; ++taken) {
    auto frame = reader.next();
    ASSERT_TRUE(frame && *frame);
    EXPECT_EQ((*frame)->index, taken);
    EXPECT_LE(asked, taken + 1 + static_cast<int>(queue_depth) + 1);
  }
  const auto end = reader.next();
  ASSERT_FALSE(end);
  EXPECT_EQ(end.error().message, "frame 100 is damaged");
}

TEST(OverlappedReader, IsAheadWhileNobodyAsks) {
  std::atomic<int> asked = 0;
  const OverlappedReader reader(std::make_unique<CountingReader>(100, asked));
  while (asked < static_cast<int>(queue_depth) + 1)
    std::this_thread::yield();
}

TEST(OverlappedReader, IsFurtherAheadOnceItIsTold) {
  std::atomic<int> asked = 0;
  OverlappedReader reader(std::make_unique<CountingReader>(100, asked));
  reader.set_depth(9);
  while (asked < 9 + 1)
    std::this_thread::yield();
}

TEST(OverlappedReader, GivesTheSameAsTheReaderItWraps) {
  const Delivered expected = read_all("test:96x80@20");
  OverlappedReader reader(*open_reader("test:96x80@20"));
  EXPECT_EQ(reader.frame_count_hint(), 20);
  EXPECT_EQ(reader.frames_expected(), 20);
  EXPECT_EQ(reader.format(), expected.frames[0].format());
  const Delivered delivered = read_all(reader);
  ASSERT_EQ(delivered.frames.size(), 20U);
  for (std::size_t i = 0; i < 20; ++i)
    EXPECT_TRUE(same_samples(delivered.frames[i], expected.frames[i]));
}

TEST(OverlappedReader, IsDestroyedAtOnceWhenFullOrWaitingForInput) {
  for (int taken = 0; taken < 4; ++taken) {
    OverlappedReader reader(*open_reader("test:96x80@1000"));
    for (int i = 0; i < taken; ++i)
      ASSERT_TRUE(reader.next());
  }
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe(ends.data()), 0);
  const std::string start = "YUV4MPEG2 W2 H1 Cmono\nFRAME\nabFRAME\nc";  // and nothing after that
  ASSERT_EQ(write(ends[1], start.data(), start.size()), static_cast<ssize_t>(start.size()));
  {
    auto source = std::make_unique<InputFile>(Descriptor::owned(ends[0]), "the pipe");
    OverlappedReader reader(*open_y4m_reader(std::move(source), {}));
    EXPECT_TRUE(reader.next());
  }
  close(ends[1]);
}

// Its exception would end the process if it escaped the reader's thread.
class ThrowingReader final : public FrameReader {
 public:
  [[nodiscard]] const FrameFormat& format() const override { return small; }
  [[nodiscard]] Result<std::optional<Frame>> next() override {
    if (given_++ < 2) return numbered(given_ - 1);
    throw std::bad_alloc();
  }

 private:
  int given_ = 0;
};

TEST(OverlappedReader, IsToldThatThereIsNoMemoryAfterTheFramesBefore) {
  OverlappedReader reader(std::make_unique<ThrowingReader>());
  for (int i = 0; i < 2; ++i)
    EXPECT_EQ((**reader.next()).index, i);
  const auto end = reader.next();
  ASSERT_FALSE(end);
  EXPECT_TRUE(end.error().message.starts_with("out of memory; ")) << end.error().message;
}

TEST(OverlappedReader, SaysOfEachFrameWhenItWasRead) {
  std::atomic<int> asked = 0;
  const std::int64_t begin = now_ns();
  OverlappedReader reader(std::make_unique<CountingReader>(100, asked));
  while (asked < 3)
    std::this_thread::yield();
  const std::int64_t third_asked_for = now_ns();
  std::int64_t before = begin;
  for (int taken = 0; taken < 20; ++taken) {
    const auto frame = reader.next();
    ASSERT_TRUE(frame && *frame);
    EXPECT_GE(reader.came_ns(), before);
    before = reader.came_ns();
    if (taken < 2) {
      EXPECT_LE(before, third_asked_for) << "not when it was taken";
    }
  }
}

TEST(OverlappedReader, DeliversTheInterruptionWhenCancelled) {
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe(ends.data()), 0);
  const std::string start = "YUV4MPEG2 W2 H1 Cmono\n";
  ASSERT_EQ(write(ends[1], start.data(), start.size()), static_cast<ssize_t>(start.size()));
  auto source = std::make_unique<InputFile>(Descriptor::owned(ends[0]), "the pipe");
  OverlappedReader reader(*open_y4m_reader(std::move(source), {}));
  std::thread canceller([&] { reader.cancel(); });
  const auto frame = reader.next();
  canceller.join();
  ASSERT_FALSE(frame);
  EXPECT_EQ(frame.error().kind, ErrorKind::interrupted);
  close(ends[1]);
}

// --- OverlappedWriter

// Writes only when allowed, and fails at one frame.
class GatedWriter final : public FrameWriter {
 public:
  GatedWriter(std::counting_semaphore<>& gate, std::vector<std::int64_t>& written, std::int64_t fails_at)
      : gate_(gate), written_(written), fails_at_(fails_at) {}
  [[nodiscard]] Status write(const Frame& frame) override {
    gate_.acquire();
    if (frame.index == fails_at_) return failure("cannot write frame {}", frame.index);
    written_.push_back(frame.index);
    return {};
  }
  [[nodiscard]] Status finish() override {
    written_.push_back(-1);
    return {};
  }
  [[nodiscard]] std::int64_t frames_written() const override {
    return static_cast<std::int64_t>(written_.size());
  }
  void cancel() override { gate_.release(); }

 private:
  std::counting_semaphore<>& gate_;
  std::vector<std::int64_t>& written_;
  std::int64_t fails_at_;
};

TEST(OverlappedWriter, WritesAllInOrderAndFinishesLast) {
  std::counting_semaphore<> gate(1000);
  std::vector<std::int64_t> written;
  OverlappedWriter writer(std::make_unique<GatedWriter>(gate, written, -1));
  for (int index = 0; index < 50; ++index)
    ASSERT_TRUE(writer.write(numbered(index)));
  ASSERT_TRUE(writer.finish());
  ASSERT_EQ(written.size(), 51U);
  for (int index = 0; index < 50; ++index)
    EXPECT_EQ(written[static_cast<std::size_t>(index)], index);
  EXPECT_EQ(written.back(), -1);
  EXPECT_EQ(writer.frames_written(), 50);
}

TEST(OverlappedWriter, TellsOfEachFrameWhenItIsWrittenAndOfNoneThatIsNot) {
  std::counting_semaphore<> gate(1000);
  std::vector<std::int64_t> written;
  std::vector<std::int64_t> told;
  OverlappedWriter writer(std::make_unique<GatedWriter>(gate, written, 3), queue_depth,
                          [&](std::int64_t came_ns) {
                            told.push_back(came_ns);
                            EXPECT_EQ(told.size(), written.size());
                          });
  for (int index = 0; index < 10; ++index)
    if (!writer.write(numbered(index), 100 + index)) break;
  EXPECT_FALSE(writer.finish());
  EXPECT_EQ(told, (std::vector<std::int64_t>{100, 101, 102}));
}

// Runs in the caller's thread.
class ImmediateWriter final : public FrameWriter {
 public:
  explicit ImmediateWriter(std::int64_t fails_at) : fails_at_(fails_at) {}
  [[nodiscard]] Status write(const Frame& frame) override {
    EXPECT_EQ(std::this_thread::get_id(), own_);
    if (frame.index == fails_at_) return failure("cannot write frame {}", frame.index);
    ++frames_;
    return {};
  }
  [[nodiscard]] Status finish() override { return {}; }
  [[nodiscard]] std::int64_t frames_written() const override { return frames_; }
  [[nodiscard]] bool is_immediate() const override { return true; }

 private:
  const std::thread::id own_ = std::this_thread::get_id();
  std::int64_t fails_at_;
  std::int64_t frames_ = 0;
};

TEST(OverlappedWriter, MakesNoThreadForAWriterThatIsImmediate) {
  std::vector<std::int64_t> told;
  OverlappedWriter writer(std::make_unique<ImmediateWriter>(3), queue_depth,
                          [&](std::int64_t came_ns) { told.push_back(came_ns); });
  EXPECT_FALSE(writer.has_thread());
  writer.set_depth(5);
  for (int index = 0; index < 3; ++index)
    ASSERT_TRUE(writer.write(numbered(index), 100 + index));
  EXPECT_EQ(told, (std::vector<std::int64_t>{100, 101, 102}));
  for (int index = 3; index < 6; ++index) {
    const Status written = writer.write(numbered(index));
    ASSERT_FALSE(written) << "after an error it stays one";
    EXPECT_EQ(written.error().message, "cannot write frame 3");
  }
  EXPECT_EQ(writer.frames_written(), 3);
  const Status finished = writer.finish();
  ASSERT_FALSE(finished);
  EXPECT_EQ(finished.error().message, "cannot write frame 3");
  EXPECT_TRUE(writer.is_complete());
}

TEST(OverlappedWriter, TakesOnlyAsManyFramesAsItsQueueIsDeep) {
  std::counting_semaphore<> gate(0);
  std::vector<std::int64_t> written;
  OverlappedWriter writer(std::make_unique<GatedWriter>(gate, written, -1));
  std::atomic<int> accepted = 0;
  std::atomic<pid_t> producing = 0;
  std::thread producer([&] {
    producing = gettid();
    for (int index = 0; index < 10; ++index) {
      EXPECT_TRUE(writer.write(numbered(index)));
      ++accepted;
    }
  });
  while (accepted < static_cast<int>(queue_depth) + 1)
    std::this_thread::yield();
  EXPECT_TRUE(come_to_rest([&](pid_t thread, const ThreadSleeps&) { return thread == producing; }));
  EXPECT_EQ(accepted, static_cast<int>(queue_depth) + 1);
  gate.release(10);
  producer.join();
  EXPECT_TRUE(writer.finish());
}

TEST(OverlappedWriter, TakesMoreOnceItIsTold) {
  std::counting_semaphore<> gate(0);
  std::vector<std::int64_t> written;
  OverlappedWriter writer(std::make_unique<GatedWriter>(gate, written, -1));
  writer.set_depth(8);
  for (int index = 0; index < 8; ++index)
    EXPECT_TRUE(writer.write(numbered(index)));
  gate.release(8);
  EXPECT_TRUE(writer.finish());
  EXPECT_EQ(written.size(), 9U);
}

class ThrowingWriter final : public FrameWriter {
 public:
  [[nodiscard]] Status write(const Frame& frame) override {
    if (frame.index < 2) return {};
    throw std::bad_alloc();
  }
  [[nodiscard]] Status finish() override {
    ADD_FAILURE() << "of what was left in the midst of a frame nothing can be made";
    return {};
  }
  [[nodiscard]] std::int64_t frames_written() const override { return 2; }
};

TEST(OverlappedWriter, ReportsThatThereIsNoMemoryAndFinishesNothing) {
  OverlappedWriter writer(std::make_unique<ThrowingWriter>());
  for (int i = 0; i < 20; ++i)
    static_cast<void>(writer.write(numbered(i)));
  const Status finished = writer.finish();
  ASSERT_FALSE(finished);
  EXPECT_TRUE(finished.error().message.starts_with("out of memory; ")) << finished.error().message;
  EXPECT_EQ(writer.frames_written(), 2);
  EXPECT_FALSE(writer.is_complete());
}

TEST(OverlappedWriter, ReportsTheFirstErrorAndStillFinishes) {
  std::counting_semaphore<> gate(1000);
  std::vector<std::int64_t> written;
  OverlappedWriter writer(std::make_unique<GatedWriter>(gate, written, 3));
  Status status;
  for (int index = 0; status && index < 100; ++index)
    status = writer.write(numbered(index));
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().message, "cannot write frame 3");
  const Status finished = writer.finish();
  ASSERT_FALSE(finished);
  EXPECT_EQ(finished.error().message, "cannot write frame 3");
  EXPECT_EQ(written, (std::vector<std::int64_t>{0, 1, 2, -1}));
  EXPECT_EQ(writer.frames_written(), 3);
}

TEST(OverlappedWriter, ReportsAnErrorOfTheLastFrameAtFinish) {
  std::counting_semaphore<> gate(1000);
  std::vector<std::int64_t> written;
  OverlappedWriter writer(std::make_unique<GatedWriter>(gate, written, 0));
  ASSERT_TRUE(writer.write(numbered(0)));
  EXPECT_FALSE(writer.finish());
}

TEST(OverlappedWriter, IsDestroyedAtOnceWhenTheOutputIsStuck) {
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe(ends.data()), 0);
  {
    const FrameFormat large{.width = 640, .height = 480};  // exceeds a pipe's capacity
    auto file = std::make_unique<OutputFile>(Descriptor::owned(ends[1]), "the pipe");
    OverlappedWriter writer(*open_y4m_writer(std::move(file), large));
    for (int i = 0; i < 2; ++i) {
      Frame frame(large);
      std::memset(frame.plane(0).data, 0, frame_bytes(large));
      ASSERT_TRUE(writer.write(std::move(frame)));
    }
  }
  close(ends[0]);
}

// --- memory

TEST(Overlapped, MemoryStaysConstantOverTheLengthOfTheVideo) {
  FramePool pool({.width = 64, .height = 48});
  auto null = open_writer("null", pool.format());
  ASSERT_TRUE(null);
  OverlappedWriter writer(*std::move(null));
  for (int index = 0; index < 500; ++index) {
    auto frame = pool.acquire();
    ASSERT_TRUE(frame);
    frame->index = index;
    ASSERT_TRUE(writer.write(*std::move(frame)));
  }
  ASSERT_TRUE(writer.finish());
  EXPECT_EQ(writer.frames_written(), 500);
  // Frames in the queue, the one being written and the one being filled.
  EXPECT_LE(pool.buffers(), queue_depth + 2);
}

}  // namespace
}  // namespace millrace::video
