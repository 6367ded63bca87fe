// LineServer: connections of clients to a unix socket, each a sequence of lines with an answer each, whoever
// the clients are.
#pragma once

#include "millrace/base/descriptor.h"
#include "millrace/base/result.h"
#include "millrace/placement/daemon/process_identity.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <poll.h>
#include <string>
#include <string_view>
#include <vector>

namespace millrace::placement {

// A client that sends too much, nothing whole for too long, or does not take its answers, is sent away; as
// are those of one user beyond so many, so that no user can keep another from being answered. Nothing waits.
// Used by one thread.
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

  // What to wait for.
  void add_to(std::vector<pollfd>& waited) const;
  // When to call handle() although nothing came; none: never.
  [[nodiscard]] std::optional<std::int64_t> next_ns() const;
  // Goes on with whoever is ready, whatever was waited for.
  void handle(std::int64_t now_ns);
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
  };

  void let_in(std::int64_t now_ns);
  // False where it is to be closed.
  [[nodiscard]] bool serve(Connection& connection, std::int64_t now_ns);
  [[nodiscard]] bool receive(Connection& connection);
  [[nodiscard]] bool answer_lines(Connection& connection);
  [[nodiscard]] static bool send(Connection& connection);

  Descriptor listener_;
  Answer answer_;
  Limits limits_;
  std::map<int, Connection> connections_;  // by descriptor
  std::map<uid_t, std::int64_t> took_ns_;  // CPU time of answers, in this round
  std::map<uid_t, std::int64_t> rests_;    // until when a user is not answered
  std::int64_t sent_away_ = 0;
  std::int64_t accepts_again_ns_ = 0;
};

// Listens at `path`, which nothing else may listen at; whoever `mode` lets connect. A socket that nobody
// listens at any more is replaced.
[[nodiscard]] Result<Descriptor> listen_at(const std::string& path, mode_t mode);
// The socket that the service manager listens at for this process (LISTEN_FDS); none where it does not.
[[nodiscard]] Descriptor inherited_listener();

}  // namespace millrace::placement
