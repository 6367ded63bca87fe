// RunRecord: results and measurements of a run.
#pragma once

#include "millrace/base/numbers/histogram.h"
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

// Times in seconds unless stated otherwise.
struct RunRecord {
  video::FrameFormat input_format;
  std::optional<video::FrameFormat> second_format;  // of the second video, if there is one
  video::FrameFormat output_format;
  image::Schedule schedule;  // best schedule at the end, or the fixed one as used
  // Affinities that the kernel refused, with its messages. Those threads ran unpinned.
  std::map<machine::AffinityArrangement, std::string> refused_affinities;
  std::int64_t frames = 0;            // accepted by the output
  video::Losses losses;               // of the input
  bool output_complete = false;       // the written output is valid
  std::vector<std::string> not_kept;  // properties of the video that the output lacks
  video::WrittenAs written_as;        // codec and size of the output
  std::int64_t stand_in_frames = 0;   // frames computed unfused while kernels were compiled, or because they
                                      // could not be
  double wall_seconds = 0;            // from the request for the first frame to the completed output
  double compute_seconds = 0;         // part of it spent processing frames; reading and writing overlap the
                                      // rest
  // Parts of it spent waiting for a frame, and for room in the output or its completion.
  double input_wait_seconds = 0;
  double output_wait_seconds = 0;
  // Part of it spent waiting for the workers, which the other runs of a batch share.
  double worker_wait_seconds = 0;
  std::optional<CpuUse> cpu_use;  // nullopt if the system does not tell, or if other runs share the workers
  int decoder_threads = 0;        // 0: nothing was decoded
  int encoder_threads = 0;        // 0: nothing was encoded
  double first_frame_seconds = 0;
  // Latency of each frame: from when it and all frames that it depends on are available to when the output
  // has it. A frame of a live source is available once it has been decoded, any other when the run takes it
  // up. Waiting for room in the output counts; the encoder's lookahead does not.
  Histogram latency;
  double compile_seconds = 0;
  std::string kernel_error;  // first error of compiling a kernel; empty if there was none
  std::size_t intermediate_bytes = 0;
  std::vector<image::StageReport> stages;
  bool from_profile = false;
  std::optional<RunDecisions> decisions;          // of the schedule search; nullopt if the schedule was fixed
  std::string explanation;                        // the decisions as text for people
  std::vector<std::string> warnings;              // problems that did not stop the run, one line each
  std::shared_ptr<const RunRecording> recording;  // null: not requested

  [[nodiscard]] double fps() const {
    return wall_seconds > 0 ? static_cast<double>(frames) / wall_seconds : 0;
  }
};

// The bottleneck of a run: only a faster bottleneck makes the run faster. The schedule search uses the same
// measure (gained_share()).
enum class Bottleneck {
  none,  // the run did something else most of the time
  input,
  processing,
  output,
};
// Seconds of a run or a part of one.
struct RunTimes {
  double wall = 0;
  double computing = 0;
  double input_wait = 0;
  double output_wait = 0;
};
[[nodiscard]] Bottleneck bottleneck_of(const RunTimes& times);
[[nodiscard]] Bottleneck bottleneck_of(const RunRecord& record);
// One sentence with a newline, for people. Empty for a run without frames.
[[nodiscard]] std::string describe_bottleneck(const RunRecord& record);

// Fills in what the executor and its kernels know: the schedule if no search found one, the work of each
// stage, refused affinities and compile errors.
void record_work(const image::Executor& executor, const image::KernelLibrary& library, RunRecord& record);

}  // namespace millrace::run
