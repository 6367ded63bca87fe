// A pipeline scheduled by one of Halide's autoschedulers, as a comparison for the structures.
#pragma once

#include "millrace/base/error/result.h"
#include "millrace/image/layout/frame_layout.h"

#include <Halide.h>
#include <string>

namespace millrace::image {

// The pipeline for one plane of floats, from the same filter definitions and with the same strict arithmetic
// as the kernels. Sizes and coefficients are constants. `scheduler` is "Mullapudi2016" or "Adams2019". Uses
// Halide's threads; the environment variable HL_NUM_THREADS at the first run sets their number.
class Autoscheduled {
 public:
  [[nodiscard]] static Result<Autoscheduled> compile(const PlaneLayout& layout, const std::string& scheduler,
                                                     int threads, std::size_t cache_bytes);

  // Not thread-safe.
  void run(float* source, float* destination);

 private:
  Autoscheduled() = default;

  Size source_;
  Size destination_;
  Halide::ImageParam input_;
  Halide::Pipeline pipeline_;
};

}  // namespace millrace::image
