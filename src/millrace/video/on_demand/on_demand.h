// FFmpeg's libraries, loaded by the first call of one of their functions. With all that they need they are
// some 140 libraries, which take 30 ms and more to load: what only reads and writes raw video does not wait
// for them.
//
// Its functions are called as ever (calls.S), by whoever includes FFmpeg's headers.
#pragma once

#include "millrace/base/result.h"

namespace millrace::video {

// Loads them all, or says why that cannot be, where an error can still be told: a call that finds no library
// ends the process with one line and exit code 1. Thread-safe; a fork waits until it is done.
[[nodiscard]] Status load_ffmpeg();

}  // namespace millrace::video
