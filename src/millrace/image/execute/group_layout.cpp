#include "millrace/image/execute/group_layout.h"

#include "millrace/image/execute/point_table.h"
#include "millrace/image/kernel/formula_kernel.h"

#include <algorithm>

namespace millrace::image {
namespace {

// Whether a gather of the group determines where one of its stencils reads.
bool gather_moves_stencil(const Group& group) {
  std::vector<bool> moved(group.layouts.size(), false);
  for (std::size_t s = group.layouts.size(); s-- > 0;) {
    const Access access = group.layouts[s].filter->simple().access;
    if (moved[s] && reads_around(access)) return true;
    for (int input : group.spec.stages[s].inputs) {
      if (input >= 0 && (moved[s] || access == Access::gather)) moved[input] = true;
    }
  }
  return false;
}

void find_inner_columns(Group& group) {
  group.has_inner_columns = !gather_moves_stencil(group);
  if (!group.has_inner_columns) return;
  const auto inner = [&](int x) { return group.reads({x, 0, x + 1, 1}).interior.columns; };
  group.inner_begin = 0;
  group.inner_end = group.size().width;
  while (group.inner_begin < group.inner_end && !inner(group.inner_begin))
    ++group.inner_begin;
  while (group.inner_end > group.inner_begin && !inner(group.inner_end - 1))
    --group.inner_end;
}

}  // namespace

GroupReads Group::reads(const Rect& rect) const {
  GroupReads result{.inputs = {}, .interior = {.gathers = true, .columns = true}};
  std::array<Rect, max_kernel_stages> regions{};
  regions[layouts.size() - 1] = rect;
  for (std::size_t s = layouts.size(); s-- > 0;) {
    const StageLayout::Reads stage_reads = layouts[s].reads(regions[s]);
    const Access access = layouts[s].filter->simple().access;
    if (access == Access::gather && !stage_reads.interior) result.interior.gathers = false;
    if (reads_around(access) && !stage_reads.inner_columns) result.interior.columns = false;
    for (int input : spec.stages[s].inputs) {
      Rect& region = input >= 0 ? regions[input] : result.inputs[-1 - input];
      region = bounding(region, stage_reads.required);
    }
  }
  return result;
}

bool GroupLayout::ready() const {
  return std::ranges::all_of(groups, [](const Group& group) { return group.kernel != nullptr; });
}

bool GroupLayout::interim() const {
  return std::ranges::any_of(groups, [](const Group& group) { return group.interim; });
}

GroupLayout lay_out_groups(const PlaneLayout& layout, const Grouping& grouping, const Grouping& stored) {
  GroupLayout result{.layout = layout, .groups = {}};
  std::vector<int> group_of(layout.stages.size(), -1);
  for (const std::vector<int>& members : grouping) {
    Group group;
    group.stages = members;
    group.spec.buffers = 0;
    std::vector<int> external;  // stages (or the source) that fill each buffer
    for (int member : members) {
      const StageLayout& stage = layout.stages[member];
      KernelStage in_kernel{.filter = stage.filter, .inputs = {}};
      for (int input : stage.inputs) {
        const auto inside = std::ranges::find(members, input);
        if (inside != members.end()) {
          in_kernel.inputs.push_back(static_cast<int>(inside - members.begin()));
          continue;
        }
        // A single stage uses the built-in kernel, which has a buffer for each of its inputs.
        auto buffer = members.size() == 1 ? external.end() : std::ranges::find(external, input);
        if (buffer == external.end()) {
          external.push_back(input);
          buffer = external.end() - 1;
          group.inputs.push_back(StageLayout::is_source(input) ? input : group_of[input]);
        }
        in_kernel.inputs.push_back(-1 - static_cast<int>(buffer - external.begin()));
      }
      group.spec.stages.push_back(std::move(in_kernel));
      group.arguments.push_back({.width = stage.input.size.width,
                                 .height = stage.input.size.height,
                                 .fill = stage.input.fill,
                                 .coefficients = stage.coefficients});
      group.layouts.push_back(stage);
    }
    group.spec.buffers = static_cast<int>(external.size());
    if (!stored.empty()) {
      for (int stage : stored[result.groups.size()])
        group.spec.stored.push_back(static_cast<int>(std::ranges::find(members, stage) - members.begin()));
    }
    tabulate(group);
    find_inner_columns(group);
    group_of[members.back()] = static_cast<int>(result.groups.size());
    result.groups.push_back(std::move(group));
  }
  return result;
}

Result<bool> find_kernels(GroupLayout& layout, KernelLibrary& library, machine::Isa isa) {
  for (Group& group : layout.groups) {
    if (group.kernel) continue;
    auto kernel = library.find(group.spec, isa);
    if (!kernel) return std::unexpected(kernel.error());
    group.kernel = *kernel;
    // Urgent, because the requested schedule waits for it.
    if (!group.kernel) library.request(group.spec, isa, Urgency::urgent);
  }
  return layout.ready();
}

Result<bool> find_kernels_at_once(GroupLayout& layout, KernelLibrary& library, machine::Isa isa) {
  for (Group& group : layout.groups) {
    if (group.kernel) continue;
    auto kernel = library.find(group.spec, isa);
    if (!kernel) return std::unexpected(kernel.error());
    group.kernel = *kernel;
    if (group.kernel) continue;
    library.request(group.spec, isa);
    group.kernel = formula_kernel(group.spec);
    group.interim = group.kernel != nullptr;
  }
  return layout.ready();
}

void replace_interim(GroupLayout& layout, KernelLibrary& library, machine::Isa isa) {
  for (Group& group : layout.groups) {
    if (!group.interim) continue;
    auto kernel = library.find(group.spec, isa);
    if (!kernel || !*kernel) continue;
    group.kernel = *kernel;
    group.interim = false;
  }
}

void required_of_groups(const GroupLayout& layout, const Rect& rect, std::span<Rect> regions,
                        std::span<const Rect> columns) {
  std::ranges::fill(regions, Rect{});
  regions[layout.groups.size() - 1] = rect;
  for (std::size_t g = layout.groups.size(); g-- > 0;) {
    if (regions[g].empty()) continue;
    if (!columns.empty()) {
      regions[g].x0 = columns[g].x0;
      regions[g].x1 = columns[g].x1;
    }
    const Group& group = layout.groups[g];
    const GroupReads reads = group.reads(regions[g]);
    for (std::size_t b = 0; b < group.inputs.size(); ++b) {
      if (group.inputs[b] < 0) continue;
      Rect& region = regions[group.inputs[b]];
      region = bounding(region, reads.inputs[b]);
    }
  }
}

}  // namespace millrace::image
