#include "millrace/image/group_plan.h"

#include <algorithm>

namespace millrace::image {
namespace {

// Whether a gather of the group decides where one of its stencils reads.
bool gather_moves_stencil(const Group& group) {
  std::vector<bool> moved(group.planned.size(), false);
  for (std::size_t s = group.planned.size(); s-- > 0;) {
    const Access access = group.planned[s].filter->access;
    if (moved[s] && access == Access::stencil) return true;
    for (int input : group.spec.stages[s].inputs) {
      if (input >= 0 && (moved[s] || access == Access::gather)) moved[static_cast<std::size_t>(input)] = true;
    }
  }
  return false;
}

void find_inner_columns(Group& group) {
  group.has_inner_columns = !gather_moves_stencil(group);
  if (!group.has_inner_columns) return;
  const auto inner = [&](int x) { return group.demand({x, 0, x + 1, 1}).interior.columns; };
  group.inner_begin = 0;
  group.inner_end = group.size().width;
  while (group.inner_begin < group.inner_end && !inner(group.inner_begin))
    ++group.inner_begin;
  while (group.inner_end > group.inner_begin && !inner(group.inner_end - 1))
    --group.inner_end;
}

}  // namespace

Demand Group::demand(const Rect& rect) const {
  Demand demand{.inputs = {}, .interior = {.gathers = true, .columns = true}};
  std::array<Rect, max_kernel_stages> regions{};
  regions[planned.size() - 1] = rect;
  for (std::size_t s = planned.size(); s-- > 0;) {
    const PlannedStage::Reads reads = planned[s].reads(regions[s]);
    const Access access = planned[s].filter->access;
    if (access == Access::gather && !reads.interior) demand.interior.gathers = false;
    if (access == Access::stencil && !reads.inner_columns) demand.interior.columns = false;
    for (int input : spec.stages[s].inputs) {
      Rect& region = input >= 0 ? regions[static_cast<std::size_t>(input)]
                                : demand.inputs[static_cast<std::size_t>(-1 - input)];
      region = bounding(region, reads.required);
    }
  }
  return demand;
}

bool GroupPlan::ready() const {
  return std::ranges::all_of(groups, [](const Group& group) { return group.kernel != nullptr; });
}

GroupPlan make_group_plan(const PlanePlan& plan, const Grouping& grouping, const Grouping& stored) {
  GroupPlan result{.plan = plan, .groups = {}};
  std::vector<int> group_of(plan.stages.size(), Group::source);
  for (const std::vector<int>& members : grouping) {
    Group group;
    group.stages = members;
    group.spec.buffers = 0;
    std::vector<int> external;  // stages (or the source) behind each buffer
    for (int member : members) {
      const PlannedStage& stage = plan.stages[static_cast<std::size_t>(member)];
      KernelStage in_kernel{.filter = stage.filter, .inputs = {}};
      for (int input : stage.inputs) {
        const auto inside = std::ranges::find(members, input);
        if (inside != members.end()) {
          in_kernel.inputs.push_back(static_cast<int>(inside - members.begin()));
          continue;
        }
        auto buffer = std::ranges::find(external, input);
        if (buffer == external.end()) {
          external.push_back(input);
          buffer = external.end() - 1;
          group.inputs.push_back(input < 0 ? Group::source : group_of[static_cast<std::size_t>(input)]);
        }
        in_kernel.inputs.push_back(-1 - static_cast<int>(buffer - external.begin()));
      }
      group.spec.stages.push_back(std::move(in_kernel));
      group.arguments.push_back({.width = stage.input.size.width,
                                 .height = stage.input.size.height,
                                 .fill = stage.input.fill,
                                 .coefficients = stage.coefficients});
      group.planned.push_back(stage);
    }
    group.spec.buffers = static_cast<int>(external.size());
    if (!stored.empty()) {
      for (int stage : stored[result.groups.size()])
        group.spec.stored.push_back(static_cast<int>(std::ranges::find(members, stage) - members.begin()));
    }
    find_inner_columns(group);
    group_of[static_cast<std::size_t>(members.back())] = static_cast<int>(result.groups.size());
    result.groups.push_back(std::move(group));
  }
  return result;
}

Result<bool> find_kernels(GroupPlan& plan, KernelLibrary& library, machine::Isa isa) {
  for (Group& group : plan.groups) {
    if (group.kernel) continue;
    auto kernel = library.find(group.spec, isa);
    if (!kernel) return std::unexpected(kernel.error());
    group.kernel = *kernel;
    // The schedule asked for waits for it.
    if (!group.kernel) library.request(group.spec, isa, Urgency::urgent);
  }
  return plan.ready();
}

void demand_of_groups(const GroupPlan& plan, const Rect& rect, std::span<Rect> regions,
                      std::span<const Rect> columns) {
  std::ranges::fill(regions, Rect{});
  regions[plan.groups.size() - 1] = rect;
  for (std::size_t g = plan.groups.size(); g-- > 0;) {
    if (regions[g].empty()) continue;
    if (!columns.empty()) {
      regions[g].x0 = columns[g].x0;
      regions[g].x1 = columns[g].x1;
    }
    const Group& group = plan.groups[g];
    const Demand demand = group.demand(regions[g]);
    for (std::size_t b = 0; b < group.inputs.size(); ++b) {
      if (group.inputs[b] < 0) continue;
      Rect& region = regions[static_cast<std::size_t>(group.inputs[b])];
      region = bounding(region, demand.inputs[b]);
    }
  }
}

}  // namespace millrace::image
