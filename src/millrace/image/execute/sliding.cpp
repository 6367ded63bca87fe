#include "millrace/image/execute/sliding.h"

#include <algorithm>
#include <cstring>

namespace millrace::image {
namespace {

// Blocks of a gathering stage within the rows of a step.
constexpr Size gather_strip{256, 0};
// A window has room for this many steps in addition to the current one, so that rows are seldom moved.
constexpr int slack = 3;

}  // namespace

void RowWindow::start(int x0, int x1, int rows, ElementType type) {
  const Size wanted{x1 - x0, rows * slack};
  if (buffer_.size().width < wanted.width || buffer_.size().height < wanted.height || type != type_) {
    buffer_ = PlaneBuffer(
        {std::max(wanted.width, buffer_.size().width), std::max(wanted.height, buffer_.size().height)}, type);
  }
  type_ = type;
  capacity_ = wanted.height;
  kept_ = {x0, 0, x1, 0};
}

PixelView RowWindow::view(const Rect& rows) const {
  const Rect all{kept_.x0, base_, kept_.x1, base_ + capacity_};
  return buffer_.view(all).part({kept_.x0, rows.y0, kept_.x1, rows.y1});
}

RowWindow::Missing RowWindow::move_to(const Rect& needed) {
  const Rect want{kept_.x0, needed.y0, kept_.x1, needed.y1};
  Rect overlap = intersection(kept_, want);
  const bool fits = want.y0 >= base_ && want.y1 <= base_ + capacity_;
  if (kept_.height() <= 0 || overlap.empty()) {
    base_ = want.y0;
    kept_ = want;
    return {.above = want, .below = {}};
  }
  if (!fits) {
    // When walking down, the kept rows move to the start of the buffer; when walking up, to its end.
    const int base = want.y1 > base_ + capacity_ ? want.y0 : want.y1 - capacity_;
    const PixelView from = view(overlap);
    base_ = base;
    const PixelView to = view(overlap);
    std::memmove(to.data, from.data, static_cast<std::size_t>(from.stride) * overlap.height());
  }
  // Drops rows outside the overlap even if they are still in the buffer, so that the kept rows form one
  // range.
  kept_ = want;
  return {.above = {want.x0, want.y0, want.x1, overlap.y0}, .below = {want.x0, overlap.y1, want.x1, want.y1}};
}

SlidingRunner::SlidingRunner(std::shared_ptr<const FrameGroups> groups, int workers, Size tile)
    : StructureRunner(std::move(groups), workers), tile_(tile), workers_(workers) {
  std::size_t most_groups = 0;
  for (std::size_t p = 0; p < planes(); ++p)
    most_groups = std::max(most_groups, plane(p).groups.size());
  for (WorkerMemory& worker : workers_) {
    worker.windows.resize(most_groups);
    worker.regions.resize(most_groups);
    worker.strip.resize(most_groups);
    worker.most_rows.resize(most_groups);
  }
}

std::size_t SlidingRunner::bytes() const {
  std::size_t sum = 0;
  for (const WorkerMemory& worker : workers_) {
    for (const RowWindow& window : worker.windows)
      sum += window.bytes();
  }
  return sum;
}

void SlidingRunner::step(const FrameTask& frame, std::size_t p, const Rect& rows, int rank) {
  WorkerMemory& memory = workers_[rank];
  const std::vector<Group>& groups = plane(p).groups;
  required_of_groups(plane(p), rows, {memory.regions.data(), groups.size()},
                     {memory.strip.data(), groups.size()});

  const auto compute_part = [&](std::size_t g, const PixelView& output) {
    if (output.covers.empty()) return;
    const Group& group = groups[g];
    std::array<PixelView, max_kernel_buffers> inputs;
    for (std::size_t b = 0; b < group.inputs.size(); ++b) {
      const int from = group.inputs[b];
      inputs[b] = StageLayout::is_source(from) ? frame.source(plane(p), from) : memory.windows[from].view();
    }
    compute(rank, p, g, {inputs.data(), group.inputs.size()}, output, gather_strip);
  };

  for (std::size_t g = 0; g + 1 < groups.size(); ++g) {
    if (memory.regions[g].empty()) continue;
    RowWindow& window = memory.windows[g];
    const RowWindow::Missing missing = window.move_to(memory.regions[g]);
    if (!missing.above.empty()) compute_part(g, window.view(missing.above));
    if (!missing.below.empty()) compute_part(g, window.view(missing.below));
  }
  compute_part(groups.size() - 1, frame.destinations[p].part(rows));
}

void SlidingRunner::slide(const FrameTask& frame, std::size_t p, const Rect& strip, int rank) {
  WorkerMemory& memory = workers_[rank];
  const std::vector<Group>& groups = plane(p).groups;

  // The input of the whole strip determines the windows' columns; its largest step, their rows.
  required_of_groups(plane(p), strip, {memory.strip.data(), groups.size()});
  std::ranges::fill(memory.most_rows, 0);
  for_blocks(strip, {0, tile_.height}, [&](const Rect& rows) {
    required_of_groups(plane(p), rows, {memory.regions.data(), groups.size()},
                       {memory.strip.data(), groups.size()});
    for (std::size_t g = 0; g + 1 < groups.size(); ++g) {
      memory.most_rows[g] = std::max(memory.most_rows[g], memory.regions[g].height());
    }
  });
  for (std::size_t g = 0; g + 1 < groups.size(); ++g) {
    const Rect& needed = memory.strip[g];
    if (!needed.empty()) memory.windows[g].start(needed.x0, needed.x1, memory.most_rows[g], groups[g].type());
  }
  for_blocks(strip, {0, tile_.height}, [&](const Rect& rows) { step(frame, p, rows, rank); });
}

Status SlidingRunner::run_frame(const FrameTask& frame, pool::Team& team) {
  return team.run([&](int rank) {
    for (std::size_t p = 0; p < planes(); ++p) {
      const Rect band = band_of(frame.destinations[p].covers, team.size(), rank);
      for_blocks(band, {tile_.width, 0}, [&](const Rect& strip) { slide(frame, p, strip, rank); });
    }
  });
}

}  // namespace millrace::image
