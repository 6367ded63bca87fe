// MILLRACE_THREAD_SANITIZER: defined where the thread sanitizer watches, for tests of what it cannot bear.
#pragma once

#if defined(__SANITIZE_THREAD__)
#define MILLRACE_THREAD_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define MILLRACE_THREAD_SANITIZER 1
#endif
#endif
