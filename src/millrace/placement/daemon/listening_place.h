// ListeningPlace: the name at which the daemon's socket can be reached.
#pragma once

#include "millrace/base/descriptor/descriptor.h"
#include "millrace/base/error/result.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <poll.h>
#include <string>
#include <vector>

#include <sys/types.h>

namespace millrace::placement {

// Others may remove a socket's name, for example a cleaner of /run or of /tmp. The socket then goes on, but
// no client finds it. So the folder is watched, and a lost name gets a new socket. Costs nothing while
// nothing changes in the folder. Not thread-safe.
//
//   ListeningPlace place(path, 0600, [] {});
//   auto listener = place.listen();
//   ... poll with place.add_to() and place.next_ns(), then:
//   if (auto again = place.renewed(now_ns())) server.listen_on(std::move(*again));
class ListeningPlace {
 public:
  // make_folder: called before each attempt to listen again, in case the folder is gone too.
  ListeningPlace(std::string path, mode_t mode, std::function<void()> make_folder);
  // Removes the name if it still is that of the latest socket.
  ~ListeningPlace();
  ListeningPlace(const ListeningPlace&) = delete;
  ListeningPlace& operator=(const ListeningPlace&) = delete;

  // Listens at the path, where no other process may listen.
  [[nodiscard]] Result<Descriptor> listen();

  // Call the following only after listen() has succeeded.
  void add_to(std::vector<pollfd>& waited) const;
  [[nodiscard]] std::optional<std::int64_t> next_ns() const;
  // A new socket if the name was lost and could be taken again.
  [[nodiscard]] std::optional<Descriptor> renewed(std::int64_t now_ns);

  static constexpr std::int64_t between_attempts_ns = 1'000'000'000;

 private:
  [[nodiscard]] bool is_there() const;
  void watch_folder();

  std::string path_;
  mode_t mode_;
  std::function<void()> make_folder_;
  Descriptor changes_;  // in the folder; closed if the kernel refuses it
  dev_t device_ = 0;    // of the latest socket's name
  ino_t inode_ = 0;
  // Of the next look, while the name is lost or its folder cannot be watched; else 0.
  std::int64_t next_ns_ = 0;
};

}  // namespace millrace::placement
