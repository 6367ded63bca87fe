// Makes the plan of a job.
#pragma once

#include "millrace/cluster/plan/job_plan.h"

#include <functional>
#include <stop_token>

namespace millrace::cluster {

// The encoder's threads where nothing is said: its pixels depend on them, so they must not depend on the
// machine.
inline constexpr int usual_encoder_threads = 4;

// options: those of a run; of its outputs only codec and quality matter. Reads all packets of the input, and
// decodes a few frames of it; all, where packets do not tell what frames there are.
//
// Usage errors: what `millrace run` would refuse, and what cannot be cut: a pipe, a source without end; and
// what check_output refuses, which is called when the input is open and the pipeline fits it.
[[nodiscard]] Result<JobPlan> make_plan(const run::RunOptions& options, double chunk_seconds,
                                        const std::stop_token& stop = {},
                                        const std::function<Status()>& check_output = {});

// The frames of a job as they come out of the pipeline, and what the whole input has beside them.
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
