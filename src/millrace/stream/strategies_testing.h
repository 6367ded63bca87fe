// Decides which strategies a test can run.
#pragma once

#include "millrace/stream/run/run_options.h"

#include <gtest/gtest.h>

#if defined(__SANITIZE_THREAD__)
#define MILLRACE_WATCHES_THREADS 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define MILLRACE_WATCHES_THREADS 1
#endif
#endif

namespace millrace::stream {

// Call this first in a test that runs streams. The system's oneTBB is not instrumented, so the thread
// sanitizer cannot see its synchronisation and reports false races.
inline void skip_what_the_sanitizer_cannot_watch([[maybe_unused]] Strategy strategy) {
#ifdef MILLRACE_WATCHES_THREADS
  if (strategy == Strategy::tbb)
    GTEST_SKIP() << "SKIPPED: the thread sanitizer cannot watch oneTBB's threads";
#endif
}

}  // namespace millrace::stream
