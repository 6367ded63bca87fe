#include "millrace/video/on_demand/on_demand.h"

#ifdef MILLRACE_FFMPEG_LINKED

millrace::Status millrace::video::load_ffmpeg() { return {}; }

#else

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <string>
#include <string_view>

extern "C" {
#include <libavcodec/version.h>
#include <libavformat/version.h>
#include <libavutil/version.h>
#include <libswscale/version.h>
}

namespace millrace::video {
namespace {

// As calls.S lays it out.
struct Function {
  // release: who jumps there finds the library loaded.
  std::atomic<void*> code;
  const char* name;
  std::size_t library;
};
static_assert(sizeof(Function) == 3 * sizeof(void*) && std::atomic<void*>::is_always_lock_free);

#define MILLRACE_TEXT_OF(number) #number
#define MILLRACE_LIBRARY(name, major) "lib" name ".so." MILLRACE_TEXT_OF(major)
// Of the versions that the headers are of; in the order of calls.S.
constexpr std::array libraries{MILLRACE_LIBRARY("avutil", LIBAVUTIL_VERSION_MAJOR),
                               MILLRACE_LIBRARY("avcodec", LIBAVCODEC_VERSION_MAJOR),
                               MILLRACE_LIBRARY("avformat", LIBAVFORMAT_VERSION_MAJOR),
                               MILLRACE_LIBRARY("swscale", LIBSWSCALE_VERSION_MAJOR)};
#undef MILLRACE_LIBRARY
#undef MILLRACE_TEXT_OF

// Of those that were built with, where that is not where the system looks. Stays loaded until the process
// ends.
void* load(std::size_t library) {
  constexpr int how = RTLD_LAZY | RTLD_LOCAL | RTLD_NODELETE;
  constexpr std::string_view folders = MILLRACE_FFMPEG_FOLDERS;
  for (std::size_t at = 0; at < folders.size();) {
    const std::size_t end = std::min(folders.find(':', at), folders.size());
    const std::string path = std::string(folders.substr(at, end - at)) + "/" + libraries.at(library);
    if (void* const found = dlopen(path.c_str(), how)) return found;
    at = end + 1;
  }
  return dlopen(libraries.at(library), how);
}

}  // namespace

// By calls.S, the first time that a function is called; by several threads at once, maybe.
extern "C" __attribute__((visibility("hidden"))) void millrace_load_function(Function* function) noexcept {
  void* const library = load(function->library);
  void* const code = library == nullptr ? nullptr : dlsym(library, function->name);
  if (code == nullptr) {
    std::fprintf(stderr, "millrace: FFmpeg cannot be loaded: %s\n", dlerror());
    std::_Exit(1);
  }
  function->code.store(code, std::memory_order_release);
}

Status load_ffmpeg() {
  for (std::size_t library = 0; library < libraries.size(); ++library) {
    if (load(library) == nullptr)
      return failure("FFmpeg cannot be loaded: {}; install its libraries, or use .y4m files", dlerror());
  }
  return {};
}

}  // namespace millrace::video

#endif
