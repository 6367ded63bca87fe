// Writes the recorded details of a run as JSON.
#pragma once

#include "millrace/run/video/run_recorder.h"

#include <nlohmann/json.hpp>

namespace millrace::run {

// Adds "frame_times" (one column per quantity; milliseconds per frame), "recorded_frames" and "pictures".
//
// In a recorded frame, "calls" are those of the first plane, as words separated by spaces: worker, group,
// area from x0, y0 to x1, y1, and start and end in microseconds from the frame's first call. "other_planes":
// worker, plane, start, end.
void add_recording(nlohmann::ordered_json& json, const RunRecording& recording);

}  // namespace millrace::run
