#include "millrace/placement/daemon/run_daemon.h"

#include "millrace/base/error/clock.h"
#include "millrace/base/error/system_reason.h"
#include "millrace/placement/apply/guardian.h"
#include "millrace/placement/daemon/line_server.h"
#include "millrace/placement/daemon/listening_place.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <filesystem>
#include <limits>
#include <optional>
#include <unistd.h>
#include <utility>

#include <nlohmann/json.hpp>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>

namespace millrace::placement {
namespace {

constexpr mode_t for_all = 0666;
constexpr mode_t for_own = 0600;
constexpr std::int64_t between_observed_ns = 1'000'000'000;

// Each watched thread takes two descriptors.
void raise_open_files() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

constexpr const char* lock_name = "daemon.lock";

// Locks a file in the folder. It keeps other daemons out and keeps the folder from being removed with the
// last journal, because the guardian holds the folder by descriptor. Closed if the folder is not writable.
Result<Descriptor> take_folder(const StateFolder& folder) {
  auto file =
      Descriptor::owned(openat(folder.descriptor(), lock_name,
                               O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, S_IRUSR | S_IWUSR));
  if (file.is_open() && flock(file.get(), LOCK_EX | LOCK_NB) != 0)
    return failure("another daemon of this user runs already: it holds {}",
                   (folder.path() / lock_name).string());
  return file;
}

// The signals that end the daemon, as a descriptor. They must be blocked before any thread is made.
Descriptor ending_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP})
    sigaddset(&signals, signal);
  sigprocmask(SIG_BLOCK, &signals, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
  // At the file size limit, writing a line then fails instead of ending the process.
  std::signal(SIGXFSZ, SIG_IGN);
  return Descriptor::owned(signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
}

// The timeout for poll(); -1: no limit.
int patience_ms(std::optional<std::int64_t> until_ns, std::int64_t now_ns) {
  if (!until_ns) return -1;
  constexpr std::int64_t ns_for_ms = 1'000'000;
  const std::int64_t ms = (*until_ns - now_ns + ns_for_ms - 1) / ns_for_ms;
  return static_cast<int>(std::clamp<std::int64_t>(ms, 0, std::numeric_limits<int>::max()));
}

std::optional<std::int64_t> earlier(std::optional<std::int64_t> a, std::optional<std::int64_t> b) {
  if (!a || !b) return a ? a : b;
  return std::min(*a, *b);
}

}  // namespace

Result<std::string> daemon_socket(bool of_user) {
  if (!of_user) return "/run/millrace-daemon.sock";
  auto folder = StateFolder::of_this_user();
  if (!folder) return std::unexpected(folder.error());
  return (folder->path() / "daemon.sock").string();
}

Status run_daemon(DaemonRun run) {
  raise_open_files();
  const Descriptor signals = ending_signals();
  if (!signals.is_open()) return failure("cannot wait for signals: {}", system_reason(errno));
  // Held to the end, so that the folder exists for the socket.
  auto folder = run.daemon.state ? StateFolder::open(*run.daemon.state)
                                 : Result<StateFolder>(std::unexpected(run.daemon.state.error()));
  std::optional<Guardian> guardian;
  Descriptor lock;
  if (folder) {
    auto taken = take_folder(*folder);
    if (!taken) return std::unexpected(taken.error());
    lock = std::move(*taken);
    auto started = Guardian::start(*folder);
    if (!started) return std::unexpected(started.error());
    guardian.emplace(std::move(*started));
  }
  auto daemon = UnitDaemon::begin(std::move(run.daemon));
  if (!daemon) return std::unexpected(daemon.error());
  UnitDaemon& watching = **daemon;
  Descriptor listener = inherited_listener();
  std::optional<ListeningPlace> place;
  std::optional<StateFolder> folder_again;
  if (!listener.is_open()) {
    // The socket of a user is in the folder of the journals.
    const auto make_folder = [&] {
      if (!folder || folder->path() != std::filesystem::path(run.socket).parent_path()) return;
      if (auto again = StateFolder::open(folder->path())) folder_again.emplace(std::move(*again));
    };
    place.emplace(run.socket, run.for_all ? for_all : for_own, make_folder);
    auto made = place->listen();
    if (!made) return std::unexpected(made.error());
    listener = std::move(*made);
  }
  LineServer server(std::move(listener),
                    [&](std::string_view line, const Peer& peer, const Descriptor& passed) {
                      return watching.answer(line, peer, passed);
                    },
                    {});
  if (run.tell) {
    for (const std::string& lack : watching.lacks())
      run.tell(lack);
    run.tell("listens at " + (place ? run.socket : "the socket of the service manager"));
  }
  std::int64_t next_observed_ns = 0;
  while (true) {
    std::vector<pollfd> waited{{signals.get(), POLLIN, 0}};
    server.add_to(waited, now_ns());
    auto until = earlier(watching.next_ns(), server.next_ns(now_ns()));
    if (place) {
      place->add_to(waited);
      until = earlier(until, place->next_ns());
    }
    if (run.observed) until = earlier(until, next_observed_ns);
    if (poll(waited.data(), waited.size(), patience_ms(until, now_ns())) < 0 && errno != EINTR)
      return failure("cannot wait: {}", system_reason(errno));
    if ((waited.front().revents & POLLIN) != 0) break;
    server.handle(waited, now_ns());
    if (auto again = place ? place->renewed(now_ns()) : std::nullopt) {
      server.listen_on(std::move(*again));
      if (run.tell) run.tell(run.socket + " was removed by others; listens there again");
    }
    if (const auto next = watching.next_ns(); next && *next <= now_ns()) watching.tick(now_ns());
    if (run.observed && now_ns() >= next_observed_ns) {
      next_observed_ns = now_ns() + between_observed_ns;
      run.observed(watching.status(0, false));
    }
  }
  watching.end();
  place.reset();  // before its folder
  if (lock.is_open()) unlinkat(folder->descriptor(), lock_name, 0);
  return {};
}

}  // namespace millrace::placement
