// Loads FFmpeg's libraries at the first call of one of their functions. With dependencies, they are some 140
// libraries that take 30 ms and more to load. Programs that only read and write raw video skip that.
//
// Code that includes FFmpeg's headers calls the functions as usual (calls.S).
#pragma once

#include "millrace/base/result.h"

namespace millrace::video {

// Loads all libraries, or returns why that is impossible. Call it at a point that can still return an error:
// a call that finds no library ends the process with one line and exit code 1. Thread-safe; a fork waits
// until loading is done.
[[nodiscard]] Status load_ffmpeg();

}  // namespace millrace::video
