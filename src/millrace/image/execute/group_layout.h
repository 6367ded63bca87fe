// The layout of one plane with its stages grouped into kernels, as executed by the structures.
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

// Input needed to compute a rectangle of a group's output.
struct GroupReads {
  std::array<Rect, max_kernel_buffers> inputs{};  // by buffer; empty if nothing of it is read
  Interior interior;                              // for the whole rectangle
};

struct Group {
  KernelSpec spec;
  std::vector<int> stages;  // indices in the plane's layout, in the order of the spec
  std::vector<int>
      inputs;  // by buffer: the earlier group that makes it, or a source frame, numbered as for stages
  std::vector<StageArguments> arguments;
  std::vector<StageLayout> layouts;  // for sizes and footprints
  // Output columns [inner_begin, inner_end) for which no stencil reaches past the left or right edge of its
  // frame, in any row. If a gather determines where a stencil reads, there are no such columns, and
  // GroupReads::interior tells for each rectangle.
  bool has_inner_columns = true;
  int inner_begin = 0;
  int inner_end = 0;
  std::shared_ptr<const Kernel> kernel;
  bool interim = false;  // this kernel needs no compiler; a compiled one is on its way

  [[nodiscard]] Size size() const { return layouts.back().output.size; }  // of the output
  [[nodiscard]] ElementType type() const { return spec.output_type(); }
  [[nodiscard]] bool gathers() const { return spec.has(Access::gather); }
  [[nodiscard]] GroupReads reads(const Rect& rect) const;
};

struct GroupLayout {
  PlaneLayout layout;         // not neutral
  std::vector<Group> groups;  // in topological order; the last one is the output

  [[nodiscard]] const Group& output() const { return groups.back(); }
  [[nodiscard]] bool ready() const;    // whether every group has its kernel
  [[nodiscard]] bool interim() const;  // whether any group's kernel is interim
};

// Groups without kernels. stored: for each group, the stages that it writes in addition to its output; empty
// if no group stores any.
[[nodiscard]] GroupLayout lay_out_groups(const PlaneLayout& layout, const Grouping& grouping,
                                         const Grouping& stored = {});

// Fills in available kernels and requests the missing ones. Returns whether all are available, or the Error
// of a kernel that cannot be compiled.
[[nodiscard]] Result<bool> find_kernels(GroupLayout& layout, KernelLibrary& library, machine::Isa isa);
// The same for single stages. A stage with a formula, whose kernel must be compiled, gets an interim kernel.
[[nodiscard]] Result<bool> find_kernels_at_once(GroupLayout& layout, KernelLibrary& library,
                                                machine::Isa isa);
// Replaces interim kernels by compiled ones that are now available.
void replace_interim(GroupLayout& layout, KernelLibrary& library, machine::Isa isa);

// For each group, the part of its output needed to compute `rect` of the layout's output. With `columns`,
// each part is widened to the columns given for its group, and the input for that is included.
void required_of_groups(const GroupLayout& layout, const Rect& rect, std::span<Rect> regions,
                        std::span<const Rect> columns = {});

}  // namespace millrace::image
