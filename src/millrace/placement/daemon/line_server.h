// LineServer: connections of clients to a unix socket, each a sequence of lines with an answer each, whoever
// the clients are.
#pragma once

#include "millrace/base/descriptor.h"
#include "millrace/base/result.h"
#include "millrace/placement/daemon/process_identity.h"
#include "millrace/placement/daemon/received_descriptors.h"
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
#include <vector>

namespace millrace::placement {

// A client that sends too much, nothing whole for too long, or does not take its answers, is sent away; as
// are those of one user beyond so many, so that no user can keep another from being answered. All CPU time
// that a user causes counts, connecting and disconnecting included: whoever causes more than a fifth of a CPU
// is not served for a while (UserBudget). Nothing waits. Used by one thread.
class LineServer {
 public:
  struct Limits {
    std::size_t connections = 512;
    std::size_t for_user = 64;
    std::size_t line_bytes = 65536;
    std::size_t unsent_bytes = 4 << 20;
    std::int64_t patience_ns = 5'000'000'000;  // for the rest of a line, or of an answer to be taken
  };
  // The answer to a line, which came from `peer`, with a descriptor where one came with it; with its end.
  using Answer =
      std::function<std::string(std::string_view line, const Peer& peer, const Descriptor& passed)>;

  // listener: listens already.
  LineServer(Descriptor listener, Answer answer, const Limits& limits);

  // What to wait for. A round begins: what it takes until the end of handle() is what clients cause.
  void add_to(std::vector<pollfd>& waited, std::int64_t now_ns);
  // When to call handle() although nothing came; none: never.
  [[nodiscard]] std::optional<std::int64_t> next_ns(std::int64_t now_ns) const;
  // Goes on with whoever is ready. waited: what poll() made of what add_to() added, whatever else is in it.
  void handle(std::span<const pollfd> waited, std::int64_t now_ns);
  // Connections that were not let in, or sent away.
  [[nodiscard]] std::int64_t sent_away() const { return sent_away_; }
  [[nodiscard]] std::size_t connections() const { return connections_.size(); }

 private:
  struct Connection {
    Descriptor socket;
    Peer peer;
    std::string received;
    std::string unsent;
    Descriptor passed;  // with the bytes that came last
    std::int64_t since_ns =
        0;              // when it began to owe the rest of a line, or to take an answer; 0: it does not
    bool ends = false;  // nothing more is to be read
    [[nodiscard]] bool has_line() const { return received.find('\n') != std::string::npos; }
  };

  [[nodiscard]] bool rests(uid_t user, std::int64_t now_ns) const;
  void let_in(std::int64_t now_ns);
  [[nodiscard]] std::optional<uid_t> let_one_in();
  // False where it is to be closed.
  [[nodiscard]] bool serve(Connection& connection, std::int64_t now_ns);
  [[nodiscard]] bool has_time_left(Connection& connection, bool took, std::int64_t now_ns);
  [[nodiscard]] bool receive(Connection& connection);
  [[nodiscard]] bool answer_lines(Connection& connection, std::int64_t now_ns);
  [[nodiscard]] static bool send(Connection& connection);
  void charge(uid_t user, std::int64_t cpu_ns, std::int64_t now_ns);
  void charge_round(std::int64_t now_ns);

  Descriptor listener_;
  Answer answer_;
  Limits limits_;
  DescriptorCloser closer_;
  std::map<int, Connection> connections_;  // by descriptor
  UserBudget budget_;
  UserBudget accepting_;  // of all users together, as who connects is not known before
  std::int64_t round_begun_cpu_ns_ = 0;
  std::int64_t charged_ns_ = 0;    // CPU time, in this round
  std::map<uid_t, int> in_round_;  // how often users were served in it
  std::int64_t sent_away_ = 0;
  std::int64_t accepts_again_ns_ = 0;
};

// Listens at `path`, which nothing else may listen at; whoever `mode` lets connect. A socket that nobody
// listens at any more is replaced.
[[nodiscard]] Result<Descriptor> listen_at(const std::string& path, mode_t mode);
// The socket that the service manager listens at for this process (LISTEN_FDS); none where it does not.
[[nodiscard]] Descriptor inherited_listener();

}  // namespace millrace::placement
