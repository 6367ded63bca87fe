#include "millrace/placement/daemon/received_descriptors.h"

#include "millrace/placement/daemon/process_identity.h"

#include <cstddef>
#include <cstring>
#include <system_error>
#include <thread>
#include <utility>

namespace millrace::placement {

std::vector<Descriptor> take_descriptors(const msghdr& message) {
  std::vector<Descriptor> taken;
  // CMSG_NXTHDR needs a non-const message.
  msghdr walked = message;
  for (cmsghdr* header = CMSG_FIRSTHDR(&walked); header != nullptr; header = CMSG_NXTHDR(&walked, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int number = -1;
      std::memcpy(&number, CMSG_DATA(header) + i * sizeof number, sizeof number);
      taken.push_back(Descriptor::owned(number));
    }
  }
  return taken;
}

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
