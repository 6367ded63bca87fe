// LineServer: serves clients on a unix socket; each sends lines and gets a reply to each. Clients are not
// trusted.
#pragma once

#include "millrace/base/descriptor/descriptor.h"
#include "millrace/base/error/result.h"
#include "millrace/base/socket/acceptor.h"
#include "millrace/base/socket/line_channel.h"
#include "millrace/placement/daemon/descriptor_closer.h"
#include "millrace/placement/daemon/process_identity.h"
#include "millrace/placement/daemon/user_budget.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <poll.h>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace millrace::placement {

// A client is disconnected if it sends too much, sends no whole line for too long, or does not read its
// replies. Each user may have a limited number of connections, so that no user can block another. All CPU
// time that a user causes counts, including connects and disconnects. A user who causes more than a fifth of
// a CPU is not served for a while (UserBudget). Nothing blocks. Not thread-safe.
class LineServer {
 public:
  struct Limits {
    std::size_t connections = 512;
    std::size_t for_user = 64;
    LineLimits lines{.line_bytes = 65536, .unsent_bytes = 4 << 20};
    std::int64_t patience_ns = 5'000'000'000;  // for the rest of a line, or for a reply to be read
  };
  // Returns the reply, with its newline, to a line from `peer`. passed: the descriptor that came with the
  // line, if any.
  using Answer =
      std::function<std::string(std::string_view line, const Peer& peer, const Descriptor& passed)>;

  // listener: a socket that already listens.
  LineServer(Descriptor listener, Answer answer, const Limits& limits);

  // Replaces the listening socket. Connections stay.
  void listen_on(Descriptor listener) { acceptor_.listen_on(std::move(listener)); }
  // Adds the descriptors to poll. A round begins: the CPU time until handle() returns is attributed to
  // clients.
  void add_to(std::vector<pollfd>& waited, std::int64_t now_ns);
  // When to call handle() even if nothing came; empty: never.
  [[nodiscard]] std::optional<std::int64_t> next_ns(std::int64_t now_ns) const;
  // Serves the connections that are ready. waited: the result of poll(); other entries are ignored.
  void handle(std::span<const pollfd> waited, std::int64_t now_ns);
  [[nodiscard]] std::size_t connections() const { return connections_.size(); }

 private:
  struct Connection {
    LineChannel channel;
    Peer peer;
    Descriptor passed = {};  // came with the last bytes
    // Since when the rest of a line, or the reading of a reply, is due; 0: neither is.
    std::int64_t since_ns = 0;
    // For lines left over from when its user began to rest.
    [[nodiscard]] bool can_answer() const { return channel.all_sent() && channel.has_line(); }
  };

  [[nodiscard]] bool rests(uid_t user, std::int64_t now_ns) const;
  void let_in(std::int64_t now_ns);
  [[nodiscard]] std::optional<uid_t> let_one_in(std::int64_t now_ns);
  // Returns false if the connection must be closed.
  [[nodiscard]] bool serve(Connection& connection, std::int64_t now_ns);
  [[nodiscard]] bool has_time_left(Connection& connection, bool took, std::int64_t now_ns);
  void receive(Connection& connection);
  void answer_lines(Connection& connection, std::int64_t now_ns);
  void charge(uid_t user, std::int64_t cpu_ns, std::int64_t now_ns);
  void charge_round(std::int64_t now_ns);

  Acceptor acceptor_;
  Answer answer_;
  Limits limits_;
  DescriptorCloser closer_;
  std::map<int, Connection> connections_;  // by descriptor
  UserBudget budget_;
  UserBudget accepting_;  // of all users together, because a client is not known before it is accepted
  std::int64_t round_begun_cpu_ns_ = 0;
  std::int64_t charged_ns_ = 0;    // CPU time, in this round
  std::map<uid_t, int> in_round_;  // how often each user was served in it
};

// Listens at `path`, where no other process may listen. `mode` decides who may connect. Replaces a stale
// socket.
[[nodiscard]] Result<Descriptor> listen_at(const std::string& path, mode_t mode);
// The socket that the service manager passed to this process (LISTEN_FDS); closed if there is none.
[[nodiscard]] Descriptor inherited_listener();

}  // namespace millrace::placement
