#include "millrace/placement/daemon/descriptor_closer.h"

#include "millrace/placement/daemon/process_identity.h"

#include <system_error>
#include <thread>
#include <utility>

namespace millrace::placement {

void DescriptorCloser::close(Descriptor descriptor, uid_t user) {
  if (!descriptor.is_open() || process_meant_by(descriptor.get())) return;  // closing a pidfd never blocks
  auto* const kept = new Descriptor(std::move(descriptor));
  {
    const std::scoped_lock lock(closing_->mutex);
    ++closing_->count[user];
  }
  // If no thread can be made, the descriptor stays open and counts: better than to block.
  try {
    std::thread([kept, user, closing = closing_] {
      delete kept;
      const std::scoped_lock lock(closing->mutex);
      if (--closing->count[user] == 0) closing->count.erase(user);
    }).detach();
  } catch (const std::system_error&) {
    return;
  }
}

bool DescriptorCloser::is_full(uid_t user) const {
  const std::scoped_lock lock(closing_->mutex);
  const auto found = closing_->count.find(user);
  return found != closing_->count.end() && found->second >= most_for_user;
}

}  // namespace millrace::placement
