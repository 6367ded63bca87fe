// For tests: takes a capability from the calling thread for a while.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <unistd.h>

#include <linux/capability.h>
#include <sys/syscall.h>

namespace millrace::machine {

// While it lives, the calling thread does not have the capability (CAP_...).
class WithoutCapability {
 public:
  explicit WithoutCapability(int capability) {
    constexpr int word_bits = 32;
    if (syscall(SYS_capget, &header_, sets_.data()) != 0) return;
    auto reduced = sets_;
    reduced[static_cast<std::size_t>(capability / word_bits)].effective &=
        ~(std::uint32_t{1} << (capability % word_bits));
    taken_ = syscall(SYS_capset, &header_, reduced.data()) == 0;
  }
  ~WithoutCapability() {
    if (taken_) syscall(SYS_capset, &header_, sets_.data());
  }
  WithoutCapability(const WithoutCapability&) = delete;
  WithoutCapability& operator=(const WithoutCapability&) = delete;

  [[nodiscard]] bool taken() const { return taken_; }

 private:
  __user_cap_header_struct header_{_LINUX_CAPABILITY_VERSION_3, 0};
  std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> sets_{};
  bool taken_ = false;
};

}  // namespace millrace::machine
