// Computation: times the processing alone, on frames in memory as floats, like the execution-structures
// paper.
#pragma once

#include "millrace/image/execute/executor.h"
#include "millrace/image/execute/plane_buffer.h"
#include "millrace/machine/limits/usable_memory.h"
#include "millrace/run/video/execution_context.h"
#include "millrace/run/video/input_thread.h"
#include "millrace/run/video/run_record.h"
#include "millrace/video/frame/frame_reader.h"

#include <cstdint>
#include <map>
#include <memory>
#include <stop_token>
#include <string_view>
#include <vector>

namespace millrace::run {

// How input pixels are placed in memory. This is never timed.
enum class InputPixels {
  // All frames are written before the first is computed, each to its own memory.
  preloaded,
  // Each frame is written just before it is computed, always to the same memory. Its pixels are then in the
  // caches of the core that wrote them. Under affinity `free` that is the calling thread, which computes the
  // last part of each frame (section IV of the paper). Under any other affinity it is a separate thread on
  // the affinity's I/O CPUs (section VII).
  fresh,
};

// "preloaded" or "fresh"
[[nodiscard]] std::string_view name_of(InputPixels pixels);

// Reads the first frames of a video, as decoded: at most `most`. A video without frames is a failure; its
// message uses `name`. Usage error if these frames and the Computation's copies need more than `memory`
// bytes.
[[nodiscard]] Result<std::vector<video::Frame>>
read_frames(video::FrameReader& reader, std::int64_t most, std::string_view name, InputPixels pixels,
            std::uint64_t memory = machine::usable_memory() / 2);

// To be used by the thread that created the execution context.
class Computation {
 public:
  // The context and the frames must outlive it. There must be at least one frame, in the layout's input
  // format.
  Computation(ExecutionContext& context, const std::vector<video::Frame>& frames, image::FrameLayout layout,
              InputPixels pixels);

  // Sets the schedule for process(), compiles its kernels and touches its memory. Usage error if the schedule
  // is impossible here. An affinity that the system refuses is no error: see Executor::refused().
  [[nodiscard]] Status use(const image::Schedule& schedule, const std::stop_token& stop = {});

  // Processes the next `count` frames and wraps around after the last. Returns the seconds spent computing.
  // Interrupted if stopped. Call use() first.
  [[nodiscard]] Result<double> process(std::int64_t count, const std::stop_token& stop = {});

  // The last processed frame: its pixels before and after. Call use() first.
  [[nodiscard]] const image::FrameTask& last() const { return *last_; }
  [[nodiscard]] const image::Executor& executor() const { return executor_; }
  // Number of frames that `fresh` wrote on each CPU; the key is -1 if the system does not tell.
  [[nodiscard]] const std::map<int, std::int64_t>& written_on() const { return written_on_; }

  // Resets the counters.
  void start_counting();
  // Records the work since start_counting(), without the cost of use(). The schedule must not have changed in
  // between. Fills in only computing times and frames.
  void record(RunRecord& record) const;

 private:
  // A frame in memory: planes of floats in [0, 1], and room for the result.
  struct Slot {
    std::vector<image::PlaneBuffer> sources;
    std::vector<image::PlaneBuffer> destinations;
    image::FrameTask task;
  };

  [[nodiscard]] Slot make_slot() const;
  void add_neighbours();
  [[nodiscard]] Result<double> process_batch(std::int64_t count);
  void write_fresh(std::int64_t count);

  ExecutionContext& context_;
  const std::vector<video::Frame>& frames_;
  const image::FrameLayout layout_;
  const InputPixels pixels_;
  image::Executor executor_;
  bool set_ = false;
  std::vector<Slot> slots_;  // one per frame, or one per frame in flight
  std::int64_t next_ = 0;    // number of the next frame
  const image::FrameTask* last_ = nullptr;
  std::unique_ptr<InputThread> input_;
  machine::CpuSet input_cpus_;
  std::map<int, std::int64_t> written_on_;
  std::int64_t counted_frames_ = 0;
  RunRecord before_;
};

}  // namespace millrace::run
