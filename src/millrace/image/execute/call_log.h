// CallLog: which kernel computed what, where and when, of frames that are recorded.
#pragma once

#include "millrace/image/filter/geometry.h"

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace millrace::image {

// Times as of now_ns().
struct KernelCall {
  int frame = 0;          // of those that are handed out together
  std::size_t plane = 0;  // of those that are computed
  std::size_t group = 0;  // of the plane
  int worker = 0;         // numbered as they first appear
  Rect area;              // of the group's output
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
};

// Stages that are one kernel, on one plane.
struct GroupName {
  std::string stages;  // "blur+sobel_x"
  int plane = 0;       // of the frame
  Size size;           // of its output
};

// Thread-safe.
class CallLog {
 public:
  // Calls beyond `most` are counted only.
  explicit CallLog(std::size_t most) : most_(most) {}

  // Of the calling thread.
  void add(KernelCall call);
  // What was added since the last time; workers keep their numbers.
  [[nodiscard]] std::vector<KernelCall> take();
  [[nodiscard]] std::int64_t left_out() const;

 private:
  const std::size_t most_;
  mutable std::mutex mutex_;
  std::vector<std::thread::id> workers_;
  std::vector<KernelCall> calls_;
  std::int64_t left_out_ = 0;
};

}  // namespace millrace::image
