// CallLog: records which kernel computed what, where and when, for selected frames.
#pragma once

#include "millrace/image/filter/geometry.h"

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace millrace::image {

// Times are from now_ns().
struct KernelCall {
  int frame = 0;          // index within the batch of frames
  std::size_t plane = 0;  // index among the computed planes
  std::size_t group = 0;  // index in the plane
  int worker = 0;         // numbered in order of first appearance
  Rect area;              // of the group's output
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
};

// Stages that form one kernel, on one plane.
struct GroupName {
  std::string stages;  // "blur+sobel_x"
  int plane = 0;       // index in the frame
  Size size;           // of its output
};

// Thread-safe.
class CallLog {
 public:
  // Calls beyond `most` are only counted.
  explicit CallLog(std::size_t most) : most_(most) {}

  // Adds a call by the calling thread.
  void add(KernelCall call);
  // Returns the calls added since the last take(); workers keep their numbers.
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
