// A pipeline scheduled by one of Halide's own autoschedulers: what the structures are compared with.
#pragma once

#include "millrace/base/result.h"
#include "millrace/image/layout/frame_layout.h"

#include <Halide.h>
#include <string>

namespace millrace::image {

// The pipeline of one plane of floats, from the same filter definitions and with the same strict arithmetic
// as the kernels, with sizes and coefficients as constants. `scheduler` is "Mullapudi2016" or "Adams2019".
// Uses Halide's threads; their number is the environment variable HL_NUM_THREADS at the first run.
class Autoscheduled {
 public:
  [[nodiscard]] static Result<Autoscheduled> compile(const PlaneLayout& layout, const std::string& scheduler,
                                                     int threads, std::size_t cache_bytes);

  // Not to be called from two threads at once.
  void run(float* source, float* destination);

 private:
  Autoscheduled() = default;

  Size source_;
  Size destination_;
  Halide::ImageParam input_;
  Halide::Pipeline pipeline_;
};

}  // namespace millrace::image
