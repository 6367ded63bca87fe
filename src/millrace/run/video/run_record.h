// What a run did.
#pragma once

#include "millrace/base/histogram.h"
#include "millrace/image/execute/executor.h"
#include "millrace/image/kernel/kernel_library.h"
#include "millrace/run/video/cpu_use.h"
#include "millrace/run/video/run_decisions.h"
#include "millrace/video/frame/frame_reader.h"
#include "millrace/video/frame/written_as.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace millrace::run {

struct RunRecording;

// Seconds unless said otherwise.
struct RunRecord {
  video::FrameFormat input_format;
  std::optional<video::FrameFormat> second_format;  // of the second video, where there is one
  video::FrameFormat output_format;
  image::Schedule schedule;  // that was the best at the end, or the fixed one as it was used
  // What the kernel refused to bind, with what it said; the threads ran unbound instead.
  std::map<machine::AffinityArrangement, std::string> refused_affinities;
  std::int64_t frames = 0;            // that the output has taken
  video::Losses losses;               // of the input
  bool output_complete = false;       // what was written makes a valid output
  std::vector<std::string> not_kept;  // that the video had and the output has not
  video::WrittenAs written_as;        // codec and size of the output
  std::int64_t stand_in_frames = 0;   // unfused, while kernels were compiled or as they could not be
  double wall_seconds = 0;            // from the first frame asked for to the output complete
  double compute_seconds = 0;         // of it spent processing frames; reading and writing overlap the rest
  // Of it spent waiting for a frame to come and for room to put one, the end of the output included.
  double input_wait_seconds = 0;
  double output_wait_seconds = 0;
  // Of it spent waiting until the other runs of a batch, which share the workers, let this one compute.
  double worker_wait_seconds = 0;
  std::optional<CpuUse> cpu_use;  // none where the system does not tell, or other runs use the same workers
  int decoder_threads = 0;        // 0: nothing was decoded
  int encoder_threads = 0;        // 0: nothing was encoded
  double first_frame_seconds = 0;
  // Of each frame, from when it was there, with all frames that it is made of, until the output had it. From
  // a live source it is there when it has been read and decoded, else when the run takes it up. The wait for
  // room at the output counts, what an encoder keeps back does not.
  Histogram latency;
  double compile_seconds = 0;
  std::string kernel_error;  // why a kernel could not be compiled, the first; empty where all could
  std::size_t intermediate_bytes = 0;
  std::vector<image::StageReport> stages;
  bool from_profile = false;
  std::optional<RunDecisions> decisions;          // of the search for the schedule; none where it was fixed
  std::string explanation;                        // the same for people
  std::vector<std::string> warnings;              // of what did not keep the run from going on, a line each
  std::shared_ptr<const RunRecording> recording;  // null: not asked for

  [[nodiscard]] double fps() const {
    return wall_seconds > 0 ? static_cast<double>(frames) / wall_seconds : 0;
  }
};

// What a run waits for: making it faster would make the run faster. The search for a schedule goes by the
// same (gained_share()).
enum class Bottleneck {
  none,  // the run did something else most of the time
  input,
  processing,
  output,
};
// Seconds of a run, or of a part of one.
struct RunTimes {
  double wall = 0;
  double computing = 0;
  double input_wait = 0;
  double output_wait = 0;
};
[[nodiscard]] Bottleneck bottleneck_of(const RunTimes& times);
[[nodiscard]] Bottleneck bottleneck_of(const RunRecord& record);
// For people, in a sentence and a newline; empty for a run without frames.
[[nodiscard]] std::string describe_bottleneck(const RunRecord& record);

// Fills in what the executor and its kernels know: the schedule where no search has found one, what each
// stage did, what was refused or could not be compiled.
void record_work(const image::Executor& executor, const image::KernelLibrary& library, RunRecord& record);

}  // namespace millrace::run
