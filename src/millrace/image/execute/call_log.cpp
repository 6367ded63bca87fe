#include "millrace/image/execute/call_log.h"

#include <algorithm>
#include <utility>

namespace millrace::image {

void CallLog::add(KernelCall call) {
  const std::scoped_lock lock(mutex_);
  if (calls_.size() >= most_) {
    ++left_out_;
    return;
  }
  const auto self = std::this_thread::get_id();
  const auto found = std::ranges::find(workers_, self);
  call.worker = static_cast<int>(found - workers_.begin());
  if (found == workers_.end()) workers_.push_back(self);
  calls_.push_back(call);
}

std::vector<KernelCall> CallLog::take() {
  const std::scoped_lock lock(mutex_);
  return std::exchange(calls_, {});
}

std::int64_t CallLog::left_out() const {
  const std::scoped_lock lock(mutex_);
  return left_out_;
}

}  // namespace millrace::image
