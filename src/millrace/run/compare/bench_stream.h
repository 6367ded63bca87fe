// A stream of in-memory frames on its own thread, for comparing schedules without I/O.
#pragma once

#include "millrace/base/error/result.h"
#include "millrace/image/execute/executor.h"
#include "millrace/machine/report/machine_report.h"
#include "millrace/video/frame/frame.h"
#include "millrace/video/frame/frame_pool.h"

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace millrace::run {

// Frames of the generated test source, placed like those of a video of this size, and room for the results.
class MemoryFrames {
 public:
  [[nodiscard]] static Result<MemoryFrames> make(const video::FrameFormat& input,
                                                 const video::FrameFormat& output);

  [[nodiscard]] const std::vector<image::FrameTask>& tasks() const { return tasks_; }
  // `count` tasks, beginning at this frame of the endless stream.
  [[nodiscard]] std::vector<image::FrameTask> next(std::int64_t frame, int count) const;

 private:
  std::unique_ptr<video::FramePool> outputs_;
  std::vector<video::Frame> before_;
  std::vector<video::Frame> after_;
  std::vector<image::FrameTask> tasks_;
};

// CPUs for streams with this many threads, so that compared streams use the same ones.
[[nodiscard]] machine::CpuSet cpus_of_streams(const machine::MachineReport& machine, int threads);

// A pool, a library and an executor on a thread that owns them, so that one stream's affinity does not affect
// the others. Only one stream works at a time, because work() waits until its job has ended.
class BenchStream {
 public:
  [[nodiscard]] static Result<std::unique_ptr<BenchStream>> start(const machine::MachineReport& machine,
                                                                  int threads);
  ~BenchStream();
  BenchStream(const BenchStream&) = delete;
  BenchStream& operator=(const BenchStream&) = delete;

  // Calls `job` on the stream's thread and returns its result.
  [[nodiscard]] Status work(const std::function<Status(image::Executor&, image::KernelLibrary&)>& job);

 private:
  BenchStream(const machine::MachineReport& machine, int threads);
  void serve(int threads);

  const machine::MachineReport& machine_;
  std::mutex mutex_;
  std::condition_variable changed_;
  const std::function<Status(image::Executor&, image::KernelLibrary&)>* job_ = nullptr;
  Status result_;
  bool started_ = false;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace millrace::run
