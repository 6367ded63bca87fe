// Computation: processing alone, timed on frames in memory as floats, as the execution-structures paper
// measures it.
#pragma once

#include "millrace/image/execute/executor.h"
#include "millrace/image/execute/plane_buffer.h"
#include "millrace/machine/limits/usable_memory.h"
#include "millrace/run/video/input_thread.h"
#include "millrace/run/video/run_record.h"
#include "millrace/run/video/workplace.h"
#include "millrace/video/frame/frame_reader.h"

#include <cstdint>
#include <map>
#include <memory>
#include <stop_token>
#include <string_view>
#include <vector>

namespace millrace::run {

// How the pixels that are computed on come into memory, which is never timed.
enum class InputPixels {
  // All frames are written before the first is computed, each to memory of its own.
  preloaded,
  // Each frame is written right before it is computed, always to the same memory, so that its pixels lie in
  // the caches of the core that wrote them: under affinity `free` the calling thread, which computes the last
  // part of each frame (section IV of the paper); under any other a thread of its own, on the CPUs that the
  // affinity has for reading and writing (section VII).
  fresh,
};

// "preloaded", "fresh"
[[nodiscard]] std::string_view name_of(InputPixels pixels);

// The first frames of a video, at most `most`, as they were decoded; at least one, else a failure that calls
// the video by `name`. Usage error where they, and what a Computation makes of them, would take more than
// `memory`, in bytes.
[[nodiscard]] Result<std::vector<video::Frame>>
read_frames(video::FrameReader& reader, std::int64_t most, std::string_view name, InputPixels pixels,
            std::uint64_t memory = machine::usable_memory() / 2);

// Used by the thread that made the workplace.
class Computation {
 public:
  // Workplace and frames, of the layout's input format, must outlive it. At least one frame.
  Computation(Workplace& workplace, const std::vector<video::Frame>& frames, image::FrameLayout layout,
              InputPixels pixels);

  // What runs from here on, its kernels compiled and its memory touched. Usage error where the schedule is
  // impossible here. An affinity that the system refuses is no error: see Executor::refused().
  [[nodiscard]] Status use(const image::Schedule& schedule, const std::stop_token& stop = {});

  // Processes the next `count` frames, beginning again behind the last one. Seconds spent computing;
  // interrupted where it is stopped. After use().
  [[nodiscard]] Result<double> process(std::int64_t count, const std::stop_token& stop = {});

  // The frame processed last, its pixels before and after. After use().
  [[nodiscard]] const image::FrameTask& last() const { return *last_; }
  [[nodiscard]] const image::Executor& executor() const { return executor_; }
  // How often frames were written on which CPU, by `fresh`; under -1 where the system does not tell.
  [[nodiscard]] const std::map<int, std::int64_t>& written_on() const { return written_on_; }

  // Forgets what was counted, as before the first frame.
  void start_counting();
  // What was done since, without use(); one schedule, from start_counting() on. Of the record's times those
  // of computing; frames.
  void record(RunRecord& record) const;

 private:
  // A frame in memory: planes of floats in [0,1] and room for the result.
  struct Slot {
    std::vector<image::PlaneBuffer> sources;
    std::vector<image::PlaneBuffer> destinations;
    image::FrameTask task;
  };

  [[nodiscard]] Slot make_slot() const;
  void add_neighbours();
  [[nodiscard]] Result<double> process_batch(std::int64_t count);
  void write_fresh(std::int64_t count);

  Workplace& workplace_;
  const std::vector<video::Frame>& frames_;
  const image::FrameLayout layout_;
  const InputPixels pixels_;
  image::Executor executor_;
  bool set_ = false;
  std::vector<Slot> slots_;  // one for each frame, or one for each in flight
  std::int64_t next_ = 0;    // frame
  const image::FrameTask* last_ = nullptr;
  std::unique_ptr<InputThread> input_;
  machine::CpuSet input_cpus_;
  std::map<int, std::int64_t> written_on_;
  std::int64_t counted_frames_ = 0;
  RunRecord before_;
};

}  // namespace millrace::run
