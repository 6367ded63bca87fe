#include "millrace/image/layout/grouping.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <set>

namespace millrace::image {
namespace {

// Whether a producer may be inlined into a consumer under this fusion.
bool may_join(Access consumer, Fusion fusion) {
  switch (fusion) {
  case Fusion::none:
    return false;
  case Fusion::pointwise:
    return consumer == Access::pointwise;
  case Fusion::stencil:
    return consumer == Access::pointwise || consumer == Access::stencil;
  case Fusion::all:
    return true;
  }
  return false;
}

int external_inputs(const PlaneLayout& layout, const std::vector<int>& group) {
  std::set<int> inputs;
  for (int stage : group) {
    for (int input : layout.stages[stage].inputs) {
      if (!std::ranges::binary_search(group, input)) inputs.insert(input);
    }
  }
  return static_cast<int>(inputs.size());
}

int reads_per_pixel(Access access) {
  switch (access) {
  case Access::pointwise:
    return 1;
  case Access::stencil:
    return 9;
  case Access::window:
    return 25;
  case Access::gather:
    return 4;
  }
  return 1;
}

// A gathering stage takes as long to compile as four others, because it is written out twice: for pixels
// inside the frame and for all pixels.
int weight(Access access) { return access == Access::gather ? 4 : 1; }

// Weighted number of stages in the expression of one output pixel if the whole group is inlined. Stops
// counting above the limit.
int inlined_stages(const PlaneLayout& layout, const std::vector<int>& group) {
  std::vector<int> times(layout.stages.size(), 0);
  times[group.back()] = 1;
  int sum = 0;
  for (std::size_t i = group.size(); i-- > 0;) {
    const int member = group[i];
    const StageLayout& stage = layout.stages[member];
    // Conversions are single operations and not counted.
    if (stage.node >= 0) sum += times[member] * weight(stage.filter->simple().access);
    if (sum > max_inlined_stages) return sum;
    for (int input : stage.inputs) {
      if (std::ranges::binary_search(group, input)) {
        times[input] += times[member] * reads_per_pixel(stage.filter->simple().access);
      }
    }
  }
  return sum;
}

double evaluations_of(const PlaneLayout& layout, const std::vector<int>& group) {
  std::vector<double> times(layout.stages.size(), 0);
  times[group.back()] = 1;
  double sum = 0;
  for (std::size_t i = group.size(); i-- > 0;) {
    const StageLayout& stage = layout.stages[group[i]];
    const double now = times[group[i]];
    if (stage.node >= 0) sum += now;
    const double reads =
        stage.filter->simple().access == Access::window
            ? static_cast<double>(
                  stage.filter->simple().footprint({0, 0, 1, 1}, stage.input, stage.coefficients).pixels())
            : reads_per_pixel(stage.filter->simple().access);
    for (int input : stage.inputs) {
      if (std::ranges::binary_search(group, input)) times[input] += now * reads;
    }
  }
  return sum;
}

// A stage and everything that leads to it.
std::vector<int> all_before(const PlaneLayout& layout, int last) {
  std::vector<bool> needed(layout.stages.size());
  needed[last] = true;
  std::vector<int> group;
  for (int s = last; s >= 0; --s) {
    if (!needed[s]) continue;
    group.insert(group.begin(), s);
    for (int input : layout.stages[s].inputs) {
      if (input >= 0) needed[input] = true;
    }
  }
  return group;
}

// Stages of a group that reach its output without passing a geometric stage, except the output itself. They
// are read at the output's position.
std::vector<int> aligned_stages(const PlaneLayout& layout, const std::vector<int>& group) {
  std::vector<bool> aligned(layout.stages.size(), true);
  std::vector<int> result;
  for (std::size_t i = group.size(); i-- > 0;) {
    const int member = group[i];
    if (aligned[member] && group[i] != group.back()) result.insert(result.begin(), group[i]);
    for (int input : layout.stages[member].inputs) {
      if (input >= 0 && (!aligned[member] || layout.stages[member].filter->geometric)) aligned[input] = false;
    }
  }
  return result;
}

bool fits(const PlaneLayout& layout, const std::vector<int>& group) {
  return static_cast<int>(group.size()) <= max_kernel_stages &&
         external_inputs(layout, group) <= max_kernel_buffers &&
         inlined_stages(layout, group) <= max_inlined_stages;
}

}  // namespace

Grouping group_stages(const PlaneLayout& layout, Fusion fusion) {
  // A stage inlined into a gather can be read anywhere in the frame. Only a kernel on the source allows that.
  if (fusion == Fusion::all && !fits_one_kernel(layout)) fusion = Fusion::stencil;
  const int count = static_cast<int>(layout.stages.size());
  std::vector<std::vector<int>> consumers(layout.stages.size());
  for (int s = 0; s < count; ++s) {
    for (int input : layout.stages[s].inputs) {
      if (input >= 0) consumers[input].push_back(s);
    }
  }

  // From the output backwards: a stage joins the group of its consumers if they are all in the same group and
  // the fusion allows each of them. So every group has one output, and no group depends on itself.
  std::vector<int> group_of(layout.stages.size(), -1);
  Grouping groups;
  for (int s = count; s-- > 0;) {
    const auto& readers = consumers[s];
    int target = readers.empty() ? -1 : group_of[readers[0]];
    for (int reader : readers) {
      const Access access = layout.stages[reader].filter->simple().access;
      if (group_of[reader] != target || !may_join(access, fusion)) target = -1;
    }
    if (target >= 0) {
      std::vector<int> joined = groups[target];
      joined.insert(joined.begin(), s);
      if (fits(layout, joined))
        groups[target] = std::move(joined);
      else
        target = -1;
    }
    if (target < 0) {
      target = static_cast<int>(groups.size());
      groups.push_back({s});
    }
    group_of[s] = target;
  }
  std::ranges::sort(groups, {}, [](const std::vector<int>& group) { return group.back(); });
  return groups;
}

StoringGroups storing_groups(const PlaneLayout& layout) {
  std::vector<bool> written(layout.stages.size());
  // Conversions are not stages of the pipeline.
  const auto to_be_written = [&](int stage) { return !written[stage] && layout.stages[stage].node >= 0; };
  StoringGroups result;
  for (int last = static_cast<int>(layout.stages.size()); last-- > 0;) {
    const bool is_output = result.groups.empty();
    if (!is_output && !to_be_written(last)) continue;
    written[last] = true;
    const std::vector<int>& group = result.groups.emplace_back(all_before(layout, last));
    std::vector<int>& stored = result.stored.emplace_back(aligned_stages(layout, group));
    std::erase_if(stored, std::not_fn(to_be_written));
    for (int stage : stored)
      written[stage] = true;
  }
  std::ranges::reverse(result.groups);
  std::ranges::reverse(result.stored);
  return result;
}

double evaluations_per_pixel(const PlaneLayout& layout, const Grouping& grouping) {
  double most = 0;
  for (const std::vector<int>& group : grouping)
    most = std::max(most, evaluations_of(layout, group));
  return most;
}

bool fits_one_kernel(const PlaneLayout& layout) {
  if (layout.is_neutral()) return true;
  std::vector<int> all(layout.stages.size());
  std::iota(all.begin(), all.end(), 0);
  return fits(layout, all);
}

}  // namespace millrace::image
