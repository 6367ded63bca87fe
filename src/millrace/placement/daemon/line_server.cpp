#include "millrace/placement/daemon/line_server.h"

#include "millrace/base/error/clock.h"
#include "millrace/base/error/system_reason.h"
#include "millrace/base/text/parse_number.h"
#include "millrace/placement/run/rest_after.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <optional>
#include <unistd.h>
#include <utility>

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

namespace millrace::placement {
namespace {

// The most that Linux allows by default. While it is full, further clients wait outside in no order.
constexpr int backlog = 4096;
constexpr std::size_t most_accepted_at_once = 64;
constexpr std::int64_t rest_without_descriptors_ns = 100'000'000;
// The one key in `accepting_`, which is not per user.
constexpr uid_t all_users = 0;

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
    : acceptor_(std::move(listener)), answer_(std::move(answer)), limits_(limits) {}

bool LineServer::rests(uid_t user, std::int64_t now_ns) const {
  return budget_.rests(user, now_ns) || closer_.is_full(user);
}

void LineServer::add_to(std::vector<pollfd>& waited, std::int64_t now_ns) {
  round_begun_cpu_ns_ = thread_cpu_time_ns();
  waited.push_back(acceptor_.waited_for(now_ns));
  for (const auto& [number, connection] : connections_) {
    // While its user rests, not even the end of a connection is polled for: poll() would report it again and
    // again.
    if (rests(connection.peer.user, now_ns)) continue;
    // A client that does not read its replies gets no further requests served.
    const LineChannel& channel = connection.channel;
    waited.push_back({number, channel.all_sent() ? channel.events() : short{POLLOUT}, 0});
  }
}

std::optional<std::int64_t> LineServer::next_ns(std::int64_t now_ns) const {
  std::optional<std::int64_t> next;
  const auto sooner = [&](std::int64_t time_ns) { next = std::min(next.value_or(time_ns), time_ns); };
  if (const auto rest = acceptor_.rests_until(now_ns)) sooner(*rest);
  if (const auto rest = budget_.next_ns(now_ns); rest && !connections_.empty()) sooner(*rest);
  for (const auto& [number, connection] : connections_) {
    if (rests(connection.peer.user, now_ns)) {
      if (!budget_.rests(connection.peer.user, now_ns)) sooner(now_ns + rest_without_descriptors_ns);
      continue;
    }
    if (connection.since_ns != 0) sooner(connection.since_ns + limits_.patience_ns);
    if (connection.can_answer()) sooner(now_ns);
  }
  return next;
}

// Returns the client's user; nothing if no client waits.
std::optional<uid_t> LineServer::let_one_in(std::int64_t now_ns) {
  Descriptor socket = acceptor_.next(now_ns);
  if (!socket.is_open()) return std::nullopt;
  const auto peer = peer_of(socket.get());
  const auto of_user = std::ranges::count_if(
      connections_, [&](const auto& entry) { return peer && entry.second.peer.user == peer->user; });
  // Other users together must not be able to keep root out.
  const bool has_room = connections_.size() < limits_.connections || (peer && peer->user == 0);
  if (peer && has_room && of_user < static_cast<std::ptrdiff_t>(limits_.for_user) &&
      !closer_.is_full(peer->user)) {
    const int number = socket.get();
    connections_.emplace(number,
                         Connection{.channel = LineChannel(std::move(socket), limits_.lines), .peer = *peer});
    return peer->user;
  }
  constexpr std::string_view line = "{\"error\":\"org.millrace.daemon1.TooMany\",\"parameters\":{"
                                    "\"message\":\"too many connections\"}}\n";
  static_cast<void>(::send(socket.get(), line.data(), line.size(), MSG_NOSIGNAL | MSG_DONTWAIT));
  return peer ? peer->user : all_users;
}

void LineServer::let_in(std::int64_t now_ns) {
  const std::int64_t begun_ns = thread_cpu_time_ns();
  std::int64_t before = begun_ns;
  for (std::size_t n = 0; n < most_accepted_at_once; ++n) {
    const auto user = let_one_in(now_ns);
    if (!user) break;
    const std::int64_t after = thread_cpu_time_ns();
    charge(*user, after - std::exchange(before, after), now_ns);
  }
  accepting_.charge(all_users, thread_cpu_time_ns() - begun_ns, now_ns);
  if (const auto rest = accepting_.next_ns(now_ns)) acceptor_.rest_until(*rest);
}

void LineServer::receive(Connection& connection) {
  std::vector<Descriptor> passed;
  connection.channel.receive(&passed);
  if (!passed.empty()) closer_.close(std::exchange(connection.passed, {}), connection.peer.user);
  // With several descriptors it is unclear which one is meant.
  if (passed.size() == 1) connection.passed = std::move(passed.front());
  for (Descriptor& unused : passed)
    closer_.close(std::move(unused), connection.peer.user);
}

// Leaves the rest for later if its user has used up the budget.
void LineServer::answer_lines(Connection& connection, std::int64_t now_ns) {
  while (!rests(connection.peer.user, now_ns)) {
    const auto line = connection.channel.next_line();
    if (!line) return;
    const std::int64_t before = thread_cpu_time_ns();
    connection.channel.put(answer_(*line, connection.peer, connection.passed));
    closer_.close(std::exchange(connection.passed, Descriptor()), connection.peer.user);
    charge(connection.peer.user, thread_cpu_time_ns() - before, now_ns);
  }
}

bool LineServer::serve(Connection& connection, std::int64_t now_ns) {
  LineChannel& channel = connection.channel;
  const std::size_t unsent = channel.unsent_bytes();
  channel.flush();
  const bool took = channel.unsent_bytes() < unsent;
  if (channel.all_sent() && !rests(connection.peer.user, now_ns)) {
    receive(connection);
    answer_lines(connection, now_ns);
    channel.flush();
  }
  return has_time_left(connection, took, now_ns);
}

bool LineServer::has_time_left(Connection& connection, bool took, std::int64_t now_ns) {
  const LineChannel& channel = connection.channel;
  if (channel.has_ended() && channel.all_sent() && !channel.has_line()) return false;
  const bool owes = !channel.all_sent() || channel.has_unread() || connection.passed.is_open();
  if (!owes || took) connection.since_ns = 0;
  if (owes && connection.since_ns == 0) connection.since_ns = now_ns;
  return !owes || now_ns - connection.since_ns < limits_.patience_ns;
}

void LineServer::charge(uid_t user, std::int64_t cpu_ns, std::int64_t now_ns) {
  budget_.charge(user, cpu_ns, now_ns);
  charged_ns_ += cpu_ns;
  ++in_round_[user];
}

// CPU time of the round that is not charged to one user, such as poll(), is charged to all users served in
// it.
void LineServer::charge_round(std::int64_t now_ns) {
  const std::int64_t charged_ns = std::exchange(charged_ns_, 0);
  const std::int64_t took_ns = thread_cpu_time_ns() - round_begun_cpu_ns_ - charged_ns;
  const auto users = std::exchange(in_round_, {});
  int served = 0;
  for (const auto& [user, times] : users)
    served += times;
  for (const auto& [user, times] : users)
    budget_.charge(user, took_ns * times / served, now_ns);
}

void LineServer::handle(std::span<const pollfd> waited, std::int64_t now_ns) {
  const int listener = acceptor_.waited_for(now_ns).fd;
  bool connects = false;
  std::map<int, short> ready;
  for (const pollfd& one : waited) {
    if (one.revents == 0) continue;
    if (one.fd == listener) connects = true;
    ready[one.fd] = one.revents;
  }
  for (auto entry = connections_.begin(); entry != connections_.end();) {
    Connection& connection = entry->second;
    const uid_t user = connection.peer.user;
    const bool rested = rests(user, now_ns);
    // Time in which its user rests does not count against its deadline.
    if (rested && connection.since_ns != 0) connection.since_ns = now_ns;
    const bool goes_on = ready.contains(entry->first) || connection.can_answer();
    bool stays = true;
    if (!rested && goes_on) {
      const std::int64_t before = thread_cpu_time_ns() - charged_ns_;
      stays = serve(connection, now_ns);
      charge(user, thread_cpu_time_ns() - charged_ns_ - before, now_ns);
    } else if (!rested) {
      stays = has_time_left(connection, false, now_ns);
    }
    if (stays) {
      ++entry;
      continue;
    }
    closer_.close(std::exchange(connection.passed, Descriptor()), user);
    entry = connections_.erase(entry);
  }
  if (connects) let_in(now_ns);
  charge_round(now_ns);
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
  // Sets the mode through umask, at creation. A chmod() by name could change another file that was put there
  // meanwhile.
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
  // NOLINTBEGIN(concurrency-mt-unsafe): nothing sets these variables
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
