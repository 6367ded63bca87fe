#include "millrace/video/ffmpeg_backend.h"

#include "millrace/base/process/companion_program.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>
#include <fstream>
#include <functional>
#include <mutex>
#include <pthread.h>
#include <system_error>
#include <unistd.h>
#include <utility>

#include <fmt/ranges.h>
#include <sys/resource.h>

namespace millrace::video {
namespace {

namespace fs = std::filesystem;

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

std::unexpected<Error> cannot_load(const std::string& reason) {
  // Check again, because other threads may have used address space since the first check.
  if (const Addresses now = addresses(); !enough(now)) return too_few(now);
  return failure("FFmpeg's libraries could not be loaded: {}; install them (on Debian: apt install ffmpeg); "
                 "only .y4m files work without them",
                 reason);
}

constexpr std::string_view object_prefix = "libmillrace-ffmpeg-";

// The major version in the name of a shared object; 0: another file.
int major_version_of(const fs::path& file) {
  const std::string name = file.filename().string();
  if (!name.starts_with(object_prefix) || file.extension() != ".so") return 0;
  return std::atoi(name.c_str() + object_prefix.size());
}

// The objects in the first folder that has any, the one for the newest FFmpeg first.
std::vector<fs::path> shared_objects() {
  std::vector<fs::path> objects;
  for (const fs::path& folder : companion_library_folders()) {
    std::error_code error;
    for (fs::directory_iterator each(folder, error), end; !error && each != end; each.increment(error))
      if (major_version_of(each->path()) > 0) objects.push_back(each->path());
    if (!objects.empty()) break;
  }
  std::ranges::sort(objects, std::greater(), major_version_of);
  return objects;
}

// Lazy binding, because FFmpeg's libraries would bind all of their symbols too, which takes as long as
// loading them. The object itself binds its own at once.
constexpr int how = RTLD_LAZY | RTLD_LOCAL | RTLD_NODELETE;

Result<const FfmpegBackend*> open_object(const fs::path& object) {
  void* const handle = dlopen(object.c_str(), how);
  if (handle == nullptr) return failure("{}", dlerror());
  void* const entry = dlsym(handle, ffmpeg_entry_name);
  if (entry == nullptr) return failure("{}", dlerror());
  if (const auto* backend = std::bit_cast<FfmpegEntry>(entry)(ffmpeg_abi, !in_shared_library()))
    return backend;
  return failure("{} belongs to another build of millrace", object.string());
}

Result<const FfmpegBackend*> open_newest() {
  if (const Addresses now = addresses(); !enough(now)) return too_few(now);
  const std::vector<fs::path> objects = shared_objects();
  std::vector<std::string> reasons;
  if (objects.empty()) {
    for (const fs::path& folder : companion_library_folders())
      reasons.push_back(folder.string());
    return cannot_load(fmt::format("no {}*.so is in {}", object_prefix, fmt::join(reasons, " or ")));
  }
  for (const fs::path& object : objects) {
    auto opened = open_object(object);
    if (opened) return opened;
    reasons.push_back(std::move(opened.error().message));
  }
  return cannot_load(fmt::format("{}", fmt::join(reasons, ", ")));
}

// If a process were forked while another thread loads libraries, the child could load none. So a fork waits
// for the lock.
std::mutex loading;
[[maybe_unused]] const int at_fork =
    pthread_atfork([] { loading.lock(); }, [] { loading.unlock(); }, [] { loading.unlock(); });

std::atomic<const FfmpegBackend*> loaded_backend = nullptr;

}  // namespace

Result<const FfmpegBackend*> ffmpeg_backend() {
  if (const auto* const backend = loaded_backend.load(std::memory_order_acquire)) return backend;
  const std::scoped_lock lock(loading);
  if (const auto* const backend = loaded_backend.load(std::memory_order_acquire)) return backend;
  auto opened = open_newest();
  if (opened) loaded_backend.store(*opened, std::memory_order_release);
  return opened;
}

Status load_ffmpeg() {
  const auto backend = ffmpeg_backend();
  return backend ? Status() : std::unexpected(backend.error());
}

}  // namespace millrace::video
