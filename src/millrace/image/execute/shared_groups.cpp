#include "millrace/image/execute/shared_groups.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <utility>

namespace millrace::image {
namespace {

// A group of any plane. Its inputs are numbered so that equal numbers mean equal pixels: the index in the
// list of the group that makes them, or -1 - the index of a plane among all source planes.
struct KnownGroup {
  SharedGroup group;
  std::vector<int> reads;
};

bool same_stage(const KernelStage& a, const KernelStage& b) {
  return a.filter == b.filter && a.inputs == b.inputs;
}

bool same_numbers(const StageArguments& a, const StageArguments& b) {
  return a.width == b.width && a.height == b.height && a.fill == b.fill && a.coefficients == b.coefficients;
}

// The node determines present and future coefficients; the geometries determine what a stage reads.
bool same_layout(const StageLayout& a, const StageLayout& b) {
  return a.node == b.node && a.input == b.input && a.output == b.output && a.coefficients == b.coefficients;
}

bool same_work(const Group& a, const Group& b) {
  return a.spec.buffers == b.spec.buffers && a.spec.stored == b.spec.stored &&
         std::ranges::equal(a.spec.stages, b.spec.stages, same_stage) &&
         std::ranges::equal(a.arguments, b.arguments, same_numbers) &&
         std::ranges::equal(a.layouts, b.layouts, same_layout);
}

// Gives all planes with the first number the second one.
void join(std::vector<std::size_t>& set_of, std::size_t from, std::size_t to) {
  std::ranges::replace(set_of, from, to);
}

// Number of pixels computed, each multiplied by its group's `weight`.
template <class Weight>
double work_of(std::span<const GroupLayout> planes, const SharedSet& set, std::span<const Rect> rects,
               Weight&& weight) {
  std::vector<Rect> regions(set.groups.size());
  required_of_set(planes, set, rects, regions);
  double sum = 0;
  for (std::size_t g = 0; g < regions.size(); ++g) {
    const SharedGroup& shared = set.groups[g];
    sum += static_cast<double>(regions[g].pixels()) *
           static_cast<double>(weight(planes[shared.plane].groups[shared.group]));
  }
  return sum;
}

template <class Weight>
double work_apart(std::span<const GroupLayout> planes, const SharedSet& set, std::span<const Rect> rects,
                  Weight&& weight) {
  double sum = 0;
  for (std::size_t i = 0; i < set.planes.size(); ++i)
    sum += work_of(planes, own_groups(planes, set.planes[i]), rects.subspan(i, 1), weight);
  return sum;
}

}  // namespace

std::vector<SharedSet> share_groups(std::span<const GroupLayout> planes) {
  std::vector<KnownGroup> known;
  std::vector<std::size_t> set_of(planes.size());
  std::iota(set_of.begin(), set_of.end(), std::size_t{0});
  for (std::size_t p = 0; p < planes.size(); ++p) {
    const GroupLayout& plane = planes[p];
    std::vector<int> number_of;  // index in `known` of each group of the plane
    for (std::size_t g = 0; g < plane.groups.size(); ++g) {
      const Group& group = plane.groups[g];
      KnownGroup made{.group = {.plane = p, .group = g, .output = g + 1 == plane.groups.size()}};
      for (const int input : group.inputs) {
        const bool source = StageLayout::is_source(input);
        made.group.inputs.push_back(source ? input : number_of[input]);
        made.reads.push_back(source ? -1 - plane.layout.places[StageLayout::source_frame(input)]
                                    : number_of[input]);
      }
      const auto same = std::ranges::find_if(known, [&](const KnownGroup& other) {
        const auto number = static_cast<int>(&other - known.data());
        return !made.group.output && !other.group.output && other.group.plane != p &&
               std::ranges::find(number_of, number) == number_of.end() && other.reads == made.reads &&
               same_work(planes[other.group.plane].groups[other.group.group], group);
      });
      number_of.push_back(static_cast<int>(same - known.begin()));
      if (same == known.end()) {
        known.push_back(std::move(made));
      } else {
        const auto [first, second] = std::minmax(set_of[p], set_of[same->group.plane]);
        join(set_of, second, first);
      }
    }
  }

  std::vector<SharedSet> sets;
  for (std::size_t first = 0; first < planes.size(); ++first) {
    if (set_of[first] != first) continue;
    SharedSet& set = sets.emplace_back();
    for (std::size_t p = first; p < planes.size(); ++p)
      if (set_of[p] == first) set.planes.push_back(p);
    std::vector<int> number_in_set(known.size(), 0);
    for (std::size_t k = 0; k < known.size(); ++k) {
      SharedGroup& group = known[k].group;
      if (set_of[group.plane] != first) continue;
      number_in_set[k] = static_cast<int>(set.groups.size());
      for (int& input : group.inputs)
        if (!StageLayout::is_source(input)) input = number_in_set[input];
      if (group.output) set.outputs.push_back(set.groups.size());
      set.groups.push_back(std::move(group));
    }
  }
  return sets;
}

SharedSet own_groups(std::span<const GroupLayout> planes, std::size_t plane) {
  SharedSet set{.planes = {plane}};
  const std::vector<Group>& groups = planes[plane].groups;
  for (std::size_t g = 0; g < groups.size(); ++g)
    set.groups.push_back(
        {.plane = plane, .group = g, .inputs = groups[g].inputs, .output = g + 1 == groups.size()});
  set.outputs = {groups.size() - 1};
  return set;
}

bool saves_pixels(std::span<const GroupLayout> planes, const SharedSet& set, std::span<const Rect> rects) {
  const auto one = [](const Group&) { return 1; };
  return work_of(planes, set, rects, one) < work_apart(planes, set, rects, one);
}

double work_left_by_sharing(std::span<const GroupLayout> planes) {
  const auto stages = [](const Group& group) { return group.stages.size(); };
  double shared = 0;
  double apart = 0;
  for (const SharedSet& set : share_groups(planes)) {
    std::vector<Rect> rects;
    for (const std::size_t p : set.planes)
      rects.push_back(whole(planes[p].output().size()));
    shared += work_of(planes, set, rects, stages);
    apart += work_apart(planes, set, rects, stages);
  }
  return apart > 0 ? shared / apart : 1;
}

void required_of_set(std::span<const GroupLayout> planes, const SharedSet& set, std::span<const Rect> rects,
                     std::span<Rect> regions) {
  std::ranges::fill(regions, Rect{});
  for (std::size_t i = 0; i < set.outputs.size(); ++i)
    regions[set.outputs[i]] = rects[i];
  for (std::size_t g = set.groups.size(); g-- > 0;) {
    if (regions[g].empty()) continue;
    const SharedGroup& shared = set.groups[g];
    const GroupReads reads = planes[shared.plane].groups[shared.group].reads(regions[g]);
    for (std::size_t b = 0; b < shared.inputs.size(); ++b) {
      if (StageLayout::is_source(shared.inputs[b])) continue;
      Rect& region = regions[static_cast<std::size_t>(shared.inputs[b])];
      region = bounding(region, reads.inputs[b]);
    }
  }
}

}  // namespace millrace::image
