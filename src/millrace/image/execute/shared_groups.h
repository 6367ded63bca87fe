// Groups that planes of a frame have in common: red, green and blue of a pixel are the same whether luma or
// chroma is made of them.
#pragma once

#include "millrace/image/execute/group_layout.h"

#include <cstddef>
#include <span>
#include <vector>

namespace millrace::image {

// One group of a plane, or the same group of several, which is computed once.
struct SharedGroup {
  std::size_t plane = 0;  // the first that has it
  std::size_t group = 0;  // of that plane
  std::vector<int>
      inputs;           // for each buffer, the earlier one of the set that makes it, or a source of the plane
  bool output = false;  // makes the plane; such a group is never shared
};

// Planes that have groups in common, directly or by way of another; often a plane on its own.
struct SharedSet {
  std::vector<std::size_t> planes;   // in order
  std::vector<SharedGroup> groups;   // in topological order
  std::vector<std::size_t> outputs;  // of each plane, the one that makes it
};

// Every plane is in one set, and the sets are in the order of their first planes. Groups of two planes are
// the same where they are the same stages of the pipeline, of the same pixels: other numbers for the pipeline
// change nothing of it. Two groups of one plane are not, though they may be equal: often they are read in
// different places.
[[nodiscard]] std::vector<SharedSet> share_groups(std::span<const GroupLayout> planes);
// A plane on its own.
[[nodiscard]] SharedSet own_groups(std::span<const GroupLayout> planes, std::size_t plane);

// Whether sharing saves pixels where these rectangles are computed at once, one of each plane. It does not
// where planes read what they share in different places, and all between has to be computed.
[[nodiscard]] bool saves_pixels(std::span<const GroupLayout> planes, const SharedSet& set,
                                std::span<const Rect> rects);

// What sharing leaves to compute of whole frames, of what all planes by themselves would: 1 where they share
// nothing. In pixels of stages.
[[nodiscard]] double work_left_by_sharing(std::span<const GroupLayout> planes);

// For each group of the set the part of its output that computing one rectangle of each plane takes. rects:
// of the planes of the set, some perhaps empty.
void required_of_set(std::span<const GroupLayout> planes, const SharedSet& set, std::span<const Rect> rects,
                     std::span<Rect> regions);

}  // namespace millrace::image
