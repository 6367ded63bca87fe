// A layout for one plane whose stages are grouped and have their kernels: what the structures execute.
#pragma once

#include "millrace/image/kernel/kernel.h"
#include "millrace/image/kernel/kernel_library.h"
#include "millrace/image/layout/frame_layout.h"
#include "millrace/image/layout/grouping.h"

#include <array>
#include <memory>
#include <span>
#include <vector>

namespace millrace::image {

// What computing a rectangle of a group's output takes.
struct GroupReads {
  std::array<Rect, max_kernel_buffers> inputs{};  // of each buffer; empty where none of it is read
  Interior interior;                              // of the whole rectangle
};

struct Group {
  KernelSpec spec;
  std::vector<int> stages;  // of the plane's layout, in the order of the spec
  std::vector<int>
      inputs;  // for each buffer, the earlier group that makes it, or a source frame as of a stage
  std::vector<StageArguments> arguments;
  std::vector<StageLayout> layouts;  // for sizes and footprints
  // Output columns [inner_begin, inner_end) of which no stencil reaches past the left or right edge of its
  // frame, whatever the row. Where a gather decides what a stencil reads there are no such columns, and
  // GroupReads::interior tells for each rectangle.
  bool has_inner_columns = true;
  int inner_begin = 0;
  int inner_end = 0;
  std::shared_ptr<const Kernel> kernel;
  bool interim = false;  // the kernel needs no compiling, and one that is compiled is on its way

  [[nodiscard]] Size size() const { return layouts.back().output.size; }  // of the output
  [[nodiscard]] ElementType type() const { return spec.output_type(); }
  [[nodiscard]] bool gathers() const { return spec.has(Access::gather); }
  [[nodiscard]] GroupReads reads(const Rect& rect) const;
};

struct GroupLayout {
  PlaneLayout layout;         // not neutral
  std::vector<Group> groups;  // in topological order; the last one is the output

  [[nodiscard]] const Group& output() const { return groups.back(); }
  [[nodiscard]] bool ready() const;    // every group has its kernel
  [[nodiscard]] bool interim() const;  // that of some group is
};

// Groups without their kernels. stored: for each group the stages it writes beside its output; empty where
// none does.
[[nodiscard]] GroupLayout lay_out_groups(const PlaneLayout& layout, const Grouping& grouping,
                                         const Grouping& stored = {});

// Fills in the kernels that are there and requests those that are not. Returns whether all are there; the
// Error of one that cannot be compiled.
[[nodiscard]] Result<bool> find_kernels(GroupLayout& layout, KernelLibrary& library, machine::Isa isa);
// The same of single stages: what would have to be compiled first, because it has a formula, has an interim
// kernel until it is.
[[nodiscard]] Result<bool> find_kernels_at_once(GroupLayout& layout, KernelLibrary& library,
                                                machine::Isa isa);
// Puts kernels that have been compiled in the place of interim ones.
void replace_interim(GroupLayout& layout, KernelLibrary& library, machine::Isa isa);

// For each group the part of its output that computing `rect` of the layout's output needs. With `columns`,
// what is needed of a group is widened to the columns given for it, and what that needs in turn is included.
void required_of_groups(const GroupLayout& layout, const Rect& rect, std::span<Rect> regions,
                        std::span<const Rect> columns = {});

}  // namespace millrace::image
