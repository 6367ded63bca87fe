// What was recorded of a run, for programs.
#pragma once

#include "millrace/run/video/run_recorder.h"

#include <nlohmann/json.hpp>

namespace millrace::run {

// Adds "frame_times" (a column for each quantity; milliseconds a frame), "recorded_frames" and "pictures".
//
// Of a recorded frame "calls" are those of the first plane, in words divided by spaces: worker, group, the
// area from x0, y0 to x1, y1, microseconds from the first call of the frame on to start and end;
// "other_planes": worker, plane, start, end.
void add_recording(nlohmann::ordered_json& json, const RunRecording& recording);

}  // namespace millrace::run
