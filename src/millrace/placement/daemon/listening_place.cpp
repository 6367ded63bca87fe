#include "millrace/placement/daemon/listening_place.h"

#include "millrace/placement/daemon/line_server.h"

#include <array>
#include <filesystem>
#include <unistd.h>
#include <utility>

#include <sys/inotify.h>
#include <sys/stat.h>

namespace millrace::placement {
namespace {

constexpr std::int64_t at_once = 1;

}  // namespace

ListeningPlace::ListeningPlace(std::string path, mode_t mode, std::function<void()> make_folder)
    : path_(std::move(path)), mode_(mode), make_folder_(std::move(make_folder)) {}

ListeningPlace::~ListeningPlace() {
  if (inode_ != 0 && is_there()) unlink(path_.c_str());
}

Result<Descriptor> ListeningPlace::listen() {
  auto socket = listen_at(path_, mode_);
  if (!socket) return socket;
  struct stat status{};
  if (lstat(path_.c_str(), &status) == 0) {
    device_ = status.st_dev;
    inode_ = status.st_ino;
  }
  watch_folder();
  // From now on a removal is noticed; this finds an earlier one.
  next_ns_ = is_there() && changes_.is_open() ? 0 : at_once;
  return socket;
}

bool ListeningPlace::is_there() const {
  struct stat status{};
  return lstat(path_.c_str(), &status) == 0 && status.st_dev == device_ && status.st_ino == inode_;
}

// A new watch each time, because a watch stays with the folder that it was made for.
void ListeningPlace::watch_folder() {
  changes_ = Descriptor::owned(inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
  const std::filesystem::path folder = std::filesystem::path(path_).parent_path();
  constexpr std::uint32_t losses = IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_DELETE_SELF | IN_MOVE_SELF;
  if (changes_.is_open() &&
      inotify_add_watch(changes_.get(), folder.empty() ? "." : folder.c_str(), losses) < 0)
    changes_ = Descriptor();
}

void ListeningPlace::add_to(std::vector<pollfd>& waited) const {
  if (changes_.is_open()) waited.push_back({changes_.get(), POLLIN, 0});
}

std::optional<std::int64_t> ListeningPlace::next_ns() const {
  if (next_ns_ == 0) return std::nullopt;
  return next_ns_;
}

std::optional<Descriptor> ListeningPlace::renewed(std::int64_t now_ns) {
  bool changed = false;
  std::array<char, 4096> events;
  while (changes_.is_open() && read(changes_.get(), events.data(), events.size()) > 0)
    changed = true;
  if (!changed && (next_ns_ == 0 || now_ns < next_ns_)) return std::nullopt;
  if (is_there()) {
    next_ns_ = changes_.is_open() ? 0 : now_ns + between_attempts_ns;
    return std::nullopt;
  }
  make_folder_();
  auto again = listen();
  if (!again || next_ns_ != 0) next_ns_ = now_ns + between_attempts_ns;
  if (!again) return std::nullopt;
  return std::move(*again);
}

}  // namespace millrace::placement
