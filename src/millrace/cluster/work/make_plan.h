// Makes the plan of a job.
#pragma once

#include "millrace/cluster/plan/job_plan.h"

#include <functional>
#include <stop_token>

namespace millrace::cluster {

// Default number of encoder threads. The encoded pixels depend on it, so it must not depend on the machine.
inline constexpr int usual_encoder_threads = 4;

// options: as for a run; only codec and quality of its outputs matter. Reads all packets of the input and
// decodes a few frames. If the packets do not identify the frames, decodes all.
//
// Returns the usage errors of `millrace run`, and others for input that cannot be cut: a pipe or an endless
// source. It also returns the error of check_output, which is called once the input is open and the pipeline
// fits it.
[[nodiscard]] Result<JobPlan> make_plan(const run::RunOptions& options, double chunk_seconds,
                                        const std::stop_token& stop = {},
                                        const std::function<Status()>& check_output = {});

// The frames of a job at both ends of the pipeline, and the properties of the whole input.
struct JobFrames {
  image::Pipeline pipeline;
  image::Planes planes = image::Planes::automatic;
  video::FrameFormat input;
  video::FrameFormat output;
  image::NeighbouringFrames neighbours;
  video::SharedProperties properties;
};
[[nodiscard]] Result<JobFrames> look_at_input(const run::RunOptions& options,
                                              const std::stop_token& stop = {});

}  // namespace millrace::cluster
