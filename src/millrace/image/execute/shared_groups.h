// Finds groups that planes of a frame have in common: red, green and blue are the same for luma and both
// chroma planes made from them.
#pragma once

#include "millrace/image/execute/group_layout.h"

#include <cstddef>
#include <span>
#include <vector>

namespace millrace::image {

// A group of one plane, or the same group of several planes, which is then computed once.
struct SharedGroup {
  std::size_t plane = 0;    // the first that has it
  std::size_t group = 0;    // index in that plane
  std::vector<int> inputs;  // by buffer: the earlier group of the set that makes it, or a source of the plane
  bool output = false;      // makes the plane; such a group is never shared
};

// Planes that share groups, directly or through other planes; often a single plane.
struct SharedSet {
  std::vector<std::size_t> planes;   // in order
  std::vector<SharedGroup> groups;   // in topological order
  std::vector<std::size_t> outputs;  // by plane: the group that makes it
};

// Every plane is in one set; sets are in the order of their first planes. Groups of two planes are the same
// if they have the same stages of the pipeline and read the same pixels. This does not depend on parameter
// values. Two groups of one plane are never merged, even if equal, because they are often read at different
// places.
[[nodiscard]] std::vector<SharedSet> share_groups(std::span<const GroupLayout> planes);
// The set of a single plane.
[[nodiscard]] SharedSet own_groups(std::span<const GroupLayout> planes, std::size_t plane);

// Whether sharing saves pixels if these rectangles, one per plane, are computed together. It does not if
// planes read the shared groups at different places, because everything between has to be computed too.
[[nodiscard]] bool saves_pixels(std::span<const GroupLayout> planes, const SharedSet& set,
                                std::span<const Rect> rects);

// The work left with sharing, relative to computing each whole plane separately, in pixels of stages. 1 if
// nothing is shared.
[[nodiscard]] double work_left_by_sharing(std::span<const GroupLayout> planes);

// For each group of the set, the part of its output needed to compute one rectangle of each plane. rects: one
// per plane of the set; may be empty.
void required_of_set(std::span<const GroupLayout> planes, const SharedSet& set, std::span<const Rect> rects,
                     std::span<Rect> regions);

}  // namespace millrace::image
