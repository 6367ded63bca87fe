#include "millrace/image/execute/structure_runner.h"

#include "millrace/base/error/clock.h"
#include "millrace/image/execute/backward.h"
#include "millrace/image/execute/backward_cached.h"
#include "millrace/image/execute/sequential.h"
#include "millrace/image/execute/sliding.h"
#include "millrace/image/execute/tiled.h"
#include "millrace/pool/contiguous_part.h"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

namespace millrace::image {
namespace {

// Passed for a buffer of which nothing is needed because all pixels come from outside the frame. The kernel
// reads without checking, so there must be readable memory.
PixelView nothing_needed(ElementType type) {
  alignas(64) static constinit std::array<std::byte, 128> zeros{};
  return {zeros.data(), 64, {0, 0, 1, 1}, type};
}

}  // namespace

StructureRunner::StructureRunner(std::shared_ptr<const FrameGroups> groups, int workers)
    : groups_(std::move(groups)), workers_(workers) {
  for (WorkerCounters& worker : workers_) {
    for (const GroupLayout& layout : *groups_)
      worker.of_plane.emplace_back(layout.groups.size());
  }
}

Status StructureRunner::run(const FrameTask& frame, pool::Team& team, const Watch& watch) {
  if (std::cmp_greater(team.size(), workers_.size()))
    return failure("a team of {} came to memory for {} workers", team.size(), workers_.size());
  watch_ = watch;
  return run_frame(frame, team);
}

std::vector<std::vector<GroupCounters>> StructureRunner::counters() const {
  std::vector<std::vector<GroupCounters>> sum = workers_[0].of_plane;
  for (std::size_t w = 1; w < workers_.size(); ++w) {
    for (std::size_t p = 0; p < sum.size(); ++p) {
      for (std::size_t g = 0; g < sum[p].size(); ++g) {
        const GroupCounters& more = workers_[w].of_plane[p][g];
        sum[p][g].pixels += more.pixels;
        sum[p][g].ns += more.ns;
        sum[p][g].timed_pixels += more.timed_pixels;
      }
    }
  }
  return sum;
}

void StructureRunner::compute(int worker, std::size_t plane_index, std::size_t group_index,
                              std::span<const PixelView> inputs, const PixelView& output,
                              const GroupReads& reads, std::span<const PixelView> stored) {
  if (output.covers.empty()) return;
  if (watch_.stop != nullptr)
    compute_stoppably(worker, plane_index, group_index, inputs, output, reads, stored);
  else
    compute_now(worker, plane_index, group_index, inputs, output, reads, stored);
}

void StructureRunner::compute_stoppably(int worker, std::size_t plane_index, std::size_t group_index,
                                        std::span<const PixelView> inputs, const PixelView& output,
                                        const GroupReads& reads, std::span<const PixelView> stored) {
  // For fewer pixels, splitting costs more than it gains.
  constexpr std::int64_t few_pixels = 1 << 16;
  // Target for the longest kernel call. The cost of a pixel varies by a factor of a million.
  constexpr std::int64_t longest_call_ns = 5'000'000;
  const Rect& area = output.covers;
  int rows = area.pixels() <= few_pixels ? area.height() : 1;
  for (int y = area.y0; y < area.y1;) {
    if (watch_.stop->stop_requested()) throw std::runtime_error("a stop was requested");
    const Rect part{area.x0, y, area.x1, std::min(area.y1, y + rows)};
    std::array<PixelView, max_kernel_stages> stored_parts;
    for (std::size_t i = 0; i < stored.size(); ++i)
      stored_parts[i] = stored[i].part(part);
    const std::int64_t start = now_ns();
    compute_now(worker, plane_index, group_index, inputs, output.part(part), reads,
                {stored_parts.data(), stored.size()});
    y = part.y1;
    if (now_ns() - start < longest_call_ns) rows = std::min(rows * 2, area.height());
  }
}

void StructureRunner::compute_now(int worker, std::size_t plane_index, std::size_t group_index,
                                  std::span<const PixelView> inputs, const PixelView& output,
                                  const GroupReads& reads, std::span<const PixelView> stored) {
  const Group& group = plane(plane_index).groups[group_index];
  GroupCounters& counters = workers_[worker].of_plane[plane_index][group_index];
  const bool clocked = watch_.timed || watch_.log != nullptr;
  const std::int64_t start = clocked ? now_ns() : 0;

  std::array<PixelView, max_kernel_buffers> given;
  for (std::size_t b = 0; b < inputs.size(); ++b) {
    given[b] = inputs[b].covers.empty() ? nothing_needed(inputs[b].type) : inputs[b];
  }
  const auto run_columns = [&](int begin, int end, Interior interior) {
    if (begin >= end) return;
    const Rect part{begin, output.covers.y0, end, output.covers.y1};
    std::array<PixelView, max_kernel_stages> stored_parts;
    for (std::size_t i = 0; i < stored.size(); ++i)
      stored_parts[i] = stored[i].part(part);
    if (!group.kernel->run({given.data(), inputs.size()}, group.arguments, interior, output.part(part),
                           {stored_parts.data(), stored.size()})) {
      throw std::logic_error(fmt::format("the kernel {} refused its buffers", group.spec.key()));
    }
  };
  const auto [x0, y0, x1, y1] = output.covers;
  if (group.has_inner_columns) {
    const int inner_begin = std::clamp(group.inner_begin, x0, x1);
    const int inner_end = std::clamp(group.inner_end, inner_begin, x1);
    const bool gathers = reads.interior.gathers;
    run_columns(x0, inner_begin, {.gathers = gathers, .columns = false});
    run_columns(inner_begin, inner_end, {.gathers = gathers, .columns = true});
    run_columns(inner_end, x1, {.gathers = gathers, .columns = false});
  } else {
    run_columns(x0, x1, reads.interior);
  }

  counters.pixels += output.covers.pixels();
  if (!clocked) return;
  const std::int64_t end = now_ns();
  if (watch_.timed) {
    counters.ns += end - start;
    counters.timed_pixels += output.covers.pixels();
  }
  if (watch_.log != nullptr)
    watch_.log->add({.frame = watch_.frame,
                     .plane = plane_index,
                     .group = group_index,
                     .area = output.covers,
                     .start_ns = start,
                     .end_ns = end});
}

void StructureRunner::compute(int worker, std::size_t plane_index, std::size_t group_index,
                              std::span<const PixelView> inputs, const PixelView& output, Size block,
                              std::span<const PixelView> stored) {
  const Group& group = plane(plane_index).groups[group_index];
  if (!group.gathers()) block = {};
  for_blocks(output.covers, block, [&](const Rect& rect) {
    std::array<PixelView, max_kernel_stages> stored_parts;
    for (std::size_t i = 0; i < stored.size(); ++i)
      stored_parts[i] = stored[i].part(rect);
    compute(worker, plane_index, group_index, inputs, output.part(rect), group.reads(rect),
            std::span<const PixelView>(stored_parts.data(), stored.size()));
  });
}

Rect band_of(const Rect& area, int parts, int part) {
  const pool::Part rows = pool::contiguous_part(area.height(), parts, part);
  return {area.x0, area.y0 + static_cast<int>(rows.begin), area.x1, area.y0 + static_cast<int>(rows.end)};
}

std::unique_ptr<StructureRunner> make_runner(const Schedule& schedule,
                                             std::shared_ptr<const FrameGroups> groups) {
  const int workers = schedule.threads;
  switch (schedule.structure) {
  case Structure::sequential:
    return std::make_unique<SequentialRunner>(std::move(groups), workers);
  case Structure::backward:
  case Structure::backward_store:
    return std::make_unique<BackwardRunner>(std::move(groups), workers, schedule.tile);
  case Structure::backward_cached:
    return std::make_unique<BackwardCachedRunner>(std::move(groups), workers, schedule.tile);
  case Structure::tiled:
    return std::make_unique<TiledRunner>(std::move(groups), workers, schedule.tile);
  case Structure::sliding:
    return std::make_unique<SlidingRunner>(std::move(groups), workers, schedule.tile);
  }
  return nullptr;
}

}  // namespace millrace::image
