#include "millrace/video/on_demand/on_demand.h"

#ifdef MILLRACE_FFMPEG_LINKED

millrace::Status millrace::video::load_ffmpeg() { return {}; }

#else

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <fstream>
#include <mutex>
#include <pthread.h>
#include <string>
#include <string_view>
#include <unistd.h>

#include <sys/resource.h>

extern "C" {
#include <libavcodec/version.h>
#include <libavformat/version.h>
#include <libavutil/version.h>
#include <libswscale/version.h>
}

namespace millrace::video {
namespace {

// The layout must match calls.S.
struct Function {
  // Stored with release order, so that a thread that jumps to it finds the library loaded.
  std::atomic<void*> code;
  const char* name;
  std::size_t library;
};
static_assert(sizeof(Function) == 3 * sizeof(void*) && std::atomic<void*>::is_always_lock_free);

#define MILLRACE_TEXT_OF(number) #number
#define MILLRACE_LIBRARY(name, major) "lib" name ".so." MILLRACE_TEXT_OF(major)
// The major versions match the headers. The order matches calls.S.
constexpr std::array libraries{MILLRACE_LIBRARY("avutil", LIBAVUTIL_VERSION_MAJOR),
                               MILLRACE_LIBRARY("avcodec", LIBAVCODEC_VERSION_MAJOR),
                               MILLRACE_LIBRARY("avformat", LIBAVFORMAT_VERSION_MAJOR),
                               MILLRACE_LIBRARY("swscale", LIBSWSCALE_VERSION_MAJOR)};
#undef MILLRACE_LIBRARY
#undef MILLRACE_TEXT_OF

// Tries the folders of the build's libraries first, if they are not on the system's search path. A library
// stays loaded until the process ends.
void* load(std::size_t library) {
  constexpr int how = RTLD_LAZY | RTLD_LOCAL | RTLD_NODELETE;
  static constexpr char list[] = MILLRACE_FFMPEG_FOLDERS;
  constexpr std::string_view folders(list, sizeof list - 1);
  for (std::size_t at = 0; at < folders.size();) {
    const std::size_t end = std::min(folders.find(':', at), folders.size());
    const std::string path = std::string(folders.substr(at, end - at)) + "/" + libraries.at(library);
    if (void* const found = dlopen(path.c_str(), how)) return found;
    at = end + 1;
  }
  return dlopen(libraries.at(library), how);
}

// Address space for the libraries and their dependencies, with a margin for their initialisers: some end the
// process if it runs short.
constexpr std::uint64_t least_addresses = std::uint64_t{192} << 20;

struct Addresses {
  std::uint64_t limit = RLIM_INFINITY;
  std::uint64_t used = 0;
};

Addresses addresses() {
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return {};
  std::uint64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return {limit.rlim_cur, pages * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE))};
}

bool enough(const Addresses& addresses) { return addresses.used + least_addresses <= addresses.limit; }

std::unexpected<Error> too_few(const Addresses& addresses) {
  return failure("{} MiB of address space are too few to load FFmpeg; raise the limit: ulimit -v {}",
                 addresses.limit >> 20U, (addresses.used + 2 * least_addresses) >> 10U);
}

std::unexpected<Error> cannot_load(const char* reason) {
  // Check again, because other threads may have used address space since the first check.
  if (const Addresses now = addresses(); !enough(now)) return too_few(now);
  return failure("FFmpeg cannot be loaded: {}; only .y4m files work without it", reason);
}

// If a process were forked while another thread loads libraries, the child could load none. So a fork waits
// for the lock.
std::mutex loading;
[[maybe_unused]] const int at_fork =
    pthread_atfork([] { loading.lock(); }, [] { loading.unlock(); }, [] { loading.unlock(); });

std::atomic<bool> all_loaded = false;  // stored with release order after all functions are in place

}  // namespace

// Section bounds; the linker creates and names them.
// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming)
extern "C" {
extern Function __start_millrace_ffmpeg_calls[] __attribute__((visibility("hidden")));
extern Function __stop_millrace_ffmpeg_calls[] __attribute__((visibility("hidden")));
}
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)

Status load_ffmpeg() {
  if (all_loaded.load(std::memory_order_acquire)) return {};
  const std::scoped_lock lock(loading);
  if (const Addresses now = addresses(); !enough(now)) return too_few(now);
  std::array<void*, libraries.size()> handles{};
  for (std::size_t library = 0; library < libraries.size(); ++library) {
    handles[library] = load(library);
    if (handles[library] == nullptr) return cannot_load(dlerror());
  }
  for (Function* function = __start_millrace_ffmpeg_calls; function != __stop_millrace_ffmpeg_calls;
       ++function) {
    void* const code = dlsym(handles.at(function->library), function->name);
    if (code == nullptr)
      return failure("FFmpeg cannot be loaded: {}; it is of another version than the one built with",
                     dlerror());
    function->code.store(code, std::memory_order_release);
  }
  all_loaded.store(true, std::memory_order_release);
  return {};
}

// Called by calls.S if a function is called before all are loaded.
extern "C" __attribute__((visibility("hidden"))) void millrace_load_functions() noexcept {
  if (const Status loaded = load_ffmpeg(); !loaded) {
    std::fprintf(stderr, "millrace: %s\n", loaded.error().message.c_str());
    std::_Exit(1);
  }
}

}  // namespace millrace::video

#endif
