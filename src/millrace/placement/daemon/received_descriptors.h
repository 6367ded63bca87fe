// Descriptors that clients pass with a line (SCM_RIGHTS): all of them are owned, and closed where nobody has
// to wait for that.
//
//   std::vector<Descriptor> received = take_descriptors(message);   // after recvmsg()
//   closer.close(std::move(received.front()), peer.user);
#pragma once

#include "millrace/base/descriptor.h"

#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include <sys/socket.h>
#include <sys/types.h>

namespace millrace::placement {

// Every descriptor that came with a message, however many there are in each of its control messages.
[[nodiscard]] std::vector<Descriptor> take_descriptors(const msghdr& message);

// Closes descriptors of other users. Closing a file of a file system that its user provides (FUSE) may take
// for ever, so each is closed by a thread of its own. Used by one thread.
class DescriptorCloser {
 public:
  // So many of a user may be on their way; from then on that user is not to be listened to (is_full()).
  static constexpr int most_for_user = 8;

  // `user`: who passed it. Does nothing where it is not open.
  void close(Descriptor descriptor, uid_t user);
  [[nodiscard]] bool is_full(uid_t user) const;

 private:
  struct Closing {
    mutable std::mutex mutex;
    std::map<uid_t, int> count;
  };
  // Threads that never come back keep it.
  std::shared_ptr<Closing> closing_ = std::make_shared<Closing>();
};

}  // namespace millrace::placement
