/* What the shared libraries show to programs; all else is hidden. Read by C and C++. */
#pragma once

#define MILLRACE_EXPORT __attribute__((visibility("default")))
