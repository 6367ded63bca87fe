// A plan for one plane whose stages are grouped and have their kernels: what the structures execute.
#pragma once

#include "millrace/image/grouping.h"
#include "millrace/image/kernel.h"
#include "millrace/image/kernel_library.h"
#include "millrace/image/plan.h"

#include <array>
#include <memory>
#include <span>
#include <vector>

namespace millrace::image {

// What computing a rectangle of a group's output takes.
struct Demand {
  std::array<Rect, max_kernel_buffers> inputs{};  // of each buffer; empty where none of it is read
  Interior interior;                              // of the whole rectangle
};

struct Group {
  static constexpr int source = -1;

  KernelSpec spec;
  std::vector<int> stages;  // of the plane's plan, in the order of the spec
  std::vector<int> inputs;  // for each buffer, the earlier group that makes it, or `source`
  std::vector<StageArguments> arguments;
  std::vector<PlannedStage> planned;  // for sizes and footprints
  // Output columns [inner_begin, inner_end) of which no stencil reaches past the left or right edge of its
  // frame, whatever the row. Where a gather decides what a stencil reads there are no such columns, and
  // Demand::interior tells for each rectangle.
  bool has_inner_columns = true;
  int inner_begin = 0;
  int inner_end = 0;
  std::shared_ptr<const Kernel> kernel;

  [[nodiscard]] Size size() const { return planned.back().output.size; }  // of the output
  [[nodiscard]] ElementType type() const { return spec.output_type(); }
  [[nodiscard]] bool gathers() const { return spec.has(Access::gather); }
  [[nodiscard]] Demand demand(const Rect& rect) const;
};

struct GroupPlan {
  PlanePlan plan;
  std::vector<Group> groups;  // in topological order; the last one is the output

  [[nodiscard]] const Group& output() const { return groups.back(); }
  [[nodiscard]] bool ready() const;  // every group has its kernel
};

// Groups without their kernels. stored: for each group the stages it writes beside its output; empty where
// none does.
[[nodiscard]] GroupPlan make_group_plan(const PlanePlan& plan, const Grouping& grouping,
                                        const Grouping& stored = {});

// Fills in the kernels that are there and requests those that are not. Returns whether all are there; the
// Error of one that cannot be compiled.
[[nodiscard]] Result<bool> find_kernels(GroupPlan& plan, KernelLibrary& library, machine::Isa isa);

// For each group the part of its output that computing `rect` of the plan's output needs. With `columns`,
// what is needed of a group is widened to the columns given for it, and what that needs in turn is included.
void demand_of_groups(const GroupPlan& plan, const Rect& rect, std::span<Rect> regions,
                      std::span<const Rect> columns = {});

}  // namespace millrace::image
