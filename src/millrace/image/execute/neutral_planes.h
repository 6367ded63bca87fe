// Fills the gray planes of a frame; no kernel runs for them.
#pragma once

#include "millrace/base/error/result.h"
#include "millrace/image/execute/structure_runner.h"
#include "millrace/pool/team.h"

#include <cstddef>
#include <vector>

namespace millrace::image {

class NeutralPlanes {
 public:
  // Fills this plane of a frame's output with `sample`: see PlaneLayout::neutral.
  void add(std::size_t plane, float sample) { planes_.push_back({plane, sample}); }
  [[nodiscard]] bool empty() const { return planes_.empty(); }

  // Writes the planes; each member of the team writes a band. Returns an Error only if the team fails.
  [[nodiscard]] Status fill(const FrameTask& frame, pool::Team& team) const;

 private:
  struct Plane {
    std::size_t plane;
    float sample;
  };
  std::vector<Plane> planes_;
};

}  // namespace millrace::image
