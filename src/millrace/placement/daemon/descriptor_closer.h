// DescriptorCloser: closes descriptors that clients have passed, without blocking the caller.
//
//   closer.close(std::move(passed), peer.user);
#pragma once

#include "millrace/base/descriptor/descriptor.h"

#include <map>
#include <memory>
#include <mutex>

#include <sys/types.h>

namespace millrace::placement {

// Closes descriptors of other users. Closing a file on a user's own file system (FUSE) may block for ever, so
// a separate thread closes each. Not thread-safe.
class DescriptorCloser {
 public:
  // How many of a user's descriptors may be in the process of closing. If that is reached, stop reading from
  // the user (is_full()).
  static constexpr int most_for_user = 8;

  // `user`: who passed it. Does nothing if it is not open.
  void close(Descriptor descriptor, uid_t user);
  [[nodiscard]] bool is_full(uid_t user) const;

 private:
  struct Closing {
    mutable std::mutex mutex;
    std::map<uid_t, int> count;
  };
  // Shared, because blocked threads may outlive this object.
  std::shared_ptr<Closing> closing_ = std::make_shared<Closing>();
};

}  // namespace millrace::placement
