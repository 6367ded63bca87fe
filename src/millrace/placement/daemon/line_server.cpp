#include "millrace/placement/daemon/line_server.h"

#include "millrace/base/clock.h"
#include "millrace/base/parse_number.h"
#include "millrace/base/system_reason.h"
#include "millrace/placement/run/rest_after.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <optional>
#include <system_error>
#include <thread>
#include <unistd.h>
#include <utility>

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

namespace millrace::placement {
namespace {

constexpr int backlog = 128;
constexpr std::size_t most_accepted_at_once = 64;
constexpr std::int64_t rest_without_descriptors_ns = 100'000'000;
// Of the time that answers to one user take there must be so much more in which there are none.
constexpr std::int64_t rest_for_each_ns = 4;
constexpr std::int64_t free_of_charge_ns = 1'000'000;

// Closing a file of a file system that its user provides (FUSE) may take for ever.
void close_elsewhere(Descriptor descriptor) {
  constexpr int most = 16;
  static std::atomic<int> closing = 0;  // relaxed: nothing else hangs on it
  if (!descriptor.is_open() || process_meant_by(descriptor.get()))
    return;  // what means a process closes at once
  // So many that do not come back are nobody's mistake: better some descriptors less than standing still.
  auto* const kept = new Descriptor(std::move(descriptor));
  if (closing.load(std::memory_order_relaxed) >= most) return;
  closing.fetch_add(1, std::memory_order_relaxed);
  try {
    std::thread([kept] {
      delete kept;
      closing.fetch_sub(1, std::memory_order_relaxed);
    }).detach();
  } catch (const std::system_error&) {
    closing.fetch_sub(1, std::memory_order_relaxed);
  }
}

Result<sockaddr_un> address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path)
    return usage_error("the path of a socket has at most {} bytes: {}", sizeof address.sun_path - 1, path);
  std::ranges::copy(path, address.sun_path);
  return address;
}

}  // namespace

LineServer::LineServer(Descriptor listener, Answer answer, const Limits& limits)
    : listener_(std::move(listener)), answer_(std::move(answer)), limits_(limits) {}

void LineServer::add_to(std::vector<pollfd>& waited) const {
  if (accepts_again_ns_ == 0) waited.push_back({listener_.get(), POLLIN, 0});
  for (const auto& [number, connection] : connections_) {
    // Who does not take answers is not asked for more; nor is who has taken a good deal of time.
    const bool asks = !connection.ends && connection.unsent.empty() && !rests_.contains(connection.peer.user);
    const auto in = static_cast<short>(asks ? POLLIN : 0);
    const auto out = static_cast<short>(connection.unsent.empty() ? 0 : POLLOUT);
    waited.push_back({number, static_cast<short>(in | out), 0});
  }
}

std::optional<std::int64_t> LineServer::next_ns() const {
  std::optional<std::int64_t> next;
  if (accepts_again_ns_ != 0) next = accepts_again_ns_;
  for (const auto& [user, until_ns] : rests_)
    next = std::min(next.value_or(until_ns), until_ns);
  for (const auto& [number, connection] : connections_)
    if (connection.since_ns != 0)
      next = std::min(next.value_or(connection.since_ns + limits_.patience_ns),
                      connection.since_ns + limits_.patience_ns);
  return next;
}

void LineServer::let_in(std::int64_t now_ns) {
  if (now_ns < accepts_again_ns_) return;
  accepts_again_ns_ = 0;
  for (std::size_t n = 0; n < most_accepted_at_once; ++n) {
    auto socket = Descriptor::owned(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!socket.is_open()) {
      // Without a descriptor left the one who waits stays there, and would be told of at once, for ever.
      if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
        accepts_again_ns_ = now_ns + rest_without_descriptors_ns;
      return;
    }
    const auto peer = peer_of(socket.get());
    const auto of_user = std::ranges::count_if(
        connections_, [&](const auto& entry) { return peer && entry.second.peer.user == peer->user; });
    if (!peer || connections_.size() >= limits_.connections ||
        of_user >= static_cast<std::ptrdiff_t>(limits_.for_user)) {
      ++sent_away_;
      constexpr std::string_view line = "{\"error\":\"org.millrace.daemon1.TooMany\",\"parameters\":{"
                                        "\"message\":\"too many connections\"}}\n";
      static_cast<void>(::send(socket.get(), line.data(), line.size(), MSG_NOSIGNAL | MSG_DONTWAIT));
      continue;
    }
    const int number = socket.get();
    connections_[number] = Connection{.socket = std::move(socket), .peer = *peer};
  }
}

bool LineServer::receive(Connection& connection) {
  constexpr std::size_t at_once = 16384;
  std::array<char, at_once> part;
  iovec buffer{part.data(), part.size()};
  // Room for one descriptor: more that come with it are closed by the kernel.
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &buffer;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  const ssize_t size = recvmsg(connection.socket.get(), &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
  if (size < 0) return errno == EAGAIN || errno == EINTR;
  for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr; header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS ||
        header->cmsg_len != CMSG_LEN(sizeof(int)))
      continue;
    int number = -1;
    std::memcpy(&number, CMSG_DATA(header), sizeof number);
    close_elsewhere(std::exchange(connection.passed, Descriptor::owned(number)));
  }
  if (size == 0) connection.ends = true;
  connection.received.append(part.data(), static_cast<std::size_t>(size));
  return true;
}

bool LineServer::answer_lines(Connection& connection) {
  std::size_t begin = 0;
  for (std::size_t end = 0; (end = connection.received.find('\n', begin)) != std::string::npos;
       begin = end + 1) {
    if (end - begin > limits_.line_bytes) return false;
    const std::string_view line = std::string_view(connection.received).substr(begin, end - begin);
    const std::int64_t before = thread_cpu_time_ns();
    connection.unsent += answer_(line, connection.peer, connection.passed);
    took_ns_[connection.peer.user] += thread_cpu_time_ns() - before;
    close_elsewhere(std::exchange(connection.passed, Descriptor()));
    if (connection.unsent.size() > limits_.unsent_bytes) return false;
  }
  connection.received.erase(0, begin);
  return connection.received.size() <= limits_.line_bytes;
}

bool LineServer::send(Connection& connection) {
  while (!connection.unsent.empty()) {
    const ssize_t size = ::send(connection.socket.get(), connection.unsent.data(), connection.unsent.size(),
                                MSG_NOSIGNAL | MSG_DONTWAIT);
    if (size < 0) return errno == EAGAIN || errno == EINTR;
    connection.unsent.erase(0, static_cast<std::size_t>(size));
  }
  return true;
}

bool LineServer::serve(Connection& connection, std::int64_t now_ns) {
  const std::size_t unsent = connection.unsent.size();
  if (!send(connection)) return false;
  const bool took = connection.unsent.size() < unsent;
  if (connection.unsent.empty() && !connection.ends && !rests_.contains(connection.peer.user) &&
      (!receive(connection) || !answer_lines(connection) || !send(connection))) {
    ++sent_away_;
    return false;
  }
  if (connection.ends && connection.unsent.empty()) return false;
  const bool owes = !connection.unsent.empty() || !connection.received.empty() || connection.passed.is_open();
  if (!owes || took) connection.since_ns = 0;
  if (owes && connection.since_ns == 0) connection.since_ns = now_ns;
  if (!owes || now_ns - connection.since_ns < limits_.patience_ns) return true;
  ++sent_away_;
  return false;
}

void LineServer::handle(std::int64_t now_ns) {
  std::erase_if(rests_, [&](const auto& rest) { return rest.second <= now_ns; });
  for (auto entry = connections_.begin(); entry != connections_.end();) {
    if (serve(entry->second, now_ns)) {
      ++entry;
      continue;
    }
    close_elsewhere(std::exchange(entry->second.passed, Descriptor()));
    entry = connections_.erase(entry);
  }
  for (const auto& [user, took_ns] : std::exchange(took_ns_, {}))
    if (took_ns > free_of_charge_ns) rests_[user] = now_ns + rest_for_each_ns * took_ns;
  let_in(now_ns);
}

Result<Descriptor> listen_at(const std::string& path, mode_t mode) {
  const auto address = address_of(path);
  if (!address) return std::unexpected(address.error());
  const auto* const generic = reinterpret_cast<const sockaddr*>(&*address);
  auto socket = Descriptor::owned(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket.is_open()) return failure("cannot make a socket: {}", system_reason(errno));
  {
    const auto probe = Descriptor::owned(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    const bool answers = connect(probe.get(), generic, sizeof *address) == 0 || errno == EAGAIN;
    if (answers) return failure("another daemon listens at {} already", path);
    struct stat status{};
    if (errno == ECONNREFUSED && lstat(path.c_str(), &status) == 0 && S_ISSOCK(status.st_mode))
      unlink(path.c_str());
  }
  // It has its mode from the beginning: by its name another file could be changed, which whoever may write in
  // the folder has put there meanwhile.
  const mode_t before = umask(~mode & ACCESSPERMS);
  const bool bound = bind(socket.get(), generic, sizeof *address) == 0;
  const int reason = errno;
  umask(before);
  if (!bound) return failure("cannot listen at {}: {}", path, system_reason(reason));
  if (listen(socket.get(), backlog) != 0)
    return failure("cannot listen at {}: {}", path, system_reason(errno));
  return socket;
}

Descriptor inherited_listener() {
  constexpr int first_inherited = 3;
  // NOLINTBEGIN(concurrency-mt-unsafe): nothing sets them
  const char* const process = std::getenv("LISTEN_PID");
  const char* const count = std::getenv("LISTEN_FDS");
  // NOLINTEND(concurrency-mt-unsafe)
  if (process == nullptr || count == nullptr || parse_number<pid_t>(process) != getpid() ||
      parse_number<int>(count).value_or(0) < 1)
    return {};
  int listens = 0;
  socklen_t size = sizeof listens;
  if (getsockopt(first_inherited, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) != 0 || listens == 0) return {};
  const int flags = fcntl(first_inherited, F_GETFL);
  fcntl(first_inherited, F_SETFL, flags | O_NONBLOCK);
  fcntl(first_inherited, F_SETFD, FD_CLOEXEC);
  return Descriptor::owned(first_inherited);
}

}  // namespace millrace::placement
