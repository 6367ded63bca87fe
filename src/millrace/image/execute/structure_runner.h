// How a structure executes one frame. One runner holds the intermediate memory for one frame in flight.
#pragma once

#include "millrace/base/result.h"
#include "millrace/image/execute/call_log.h"
#include "millrace/image/execute/group_layout.h"
#include "millrace/image/layout/schedule.h"
#include "millrace/pool/team.h"

#include <cstdint>
#include <memory>
#include <span>
#include <stop_token>
#include <vector>

namespace millrace::image {

// The planes of one frame before and after; each view covers its whole plane. After, for a runner, those that
// are computed, in the order of its groups. Before, all planes; where a layout reads several source frames,
// those of the first one are followed by those of the others, in its order, or stand for all of them.
struct FrameTask {
  std::vector<PixelView> sources;
  std::vector<PixelView> destinations;

  // What a stage of that layout names by `input`.
  [[nodiscard]] const PixelView& source(const GroupLayout& plane, int input) const {
    const auto at = static_cast<std::size_t>(plane.layout.places[StageLayout::source_frame(input)]);
    return sources[at % sources.size()];
  }
};

// What a worker did for one group, since the runner was made.
struct GroupCounters {
  std::int64_t pixels = 0;  // computed
  std::int64_t ns = 0;      // in timed frames
  std::int64_t timed_pixels = 0;
};

// The grouped planes of a frame, without those that are neutral: shared by the runners of all frames in
// flight, and immutable.
using FrameGroups = std::vector<GroupLayout>;

// What is observed of a frame while it is processed.
struct Watch {
  bool timed = false;  // the time of each group, which costs two readings of the clock for each kernel call
  CallLog* log = nullptr;  // gets every kernel call; may be null
  int frame = 0;           // its number there
  // Once this is requested no further kernel is called, and the frame ends in an Error; may be null.
  const std::stop_token* stop = nullptr;
};

class StructureRunner {
 public:
  virtual ~StructureRunner() = default;
  StructureRunner(const StructureRunner&) = delete;
  StructureRunner& operator=(const StructureRunner&) = delete;

  // Processes one frame on the team; an Error where that is larger than the schedule's threads.
  [[nodiscard]] Status run(const FrameTask& frame, pool::Team& team, const Watch& watch);

  // Sums over all workers: for each plane, for each group. Not while a frame is being processed.
  [[nodiscard]] std::vector<std::vector<GroupCounters>> counters() const;
  // Memory for intermediates.
  [[nodiscard]] virtual std::size_t bytes() const = 0;

 protected:
  StructureRunner(std::shared_ptr<const FrameGroups> groups, int workers);

  [[nodiscard]] virtual Status run_frame(const FrameTask& frame, pool::Team& team) = 0;

  [[nodiscard]] const GroupLayout& plane(std::size_t p) const { return (*groups_)[p]; }
  [[nodiscard]] std::size_t planes() const { return groups_->size(); }
  [[nodiscard]] std::span<const GroupLayout> all_planes() const { return *groups_; }

  // Computes output.covers of one group on the calling worker. inputs: a view for each buffer, covering the
  // demand. A gathering group is computed in blocks, so that most of them touch no edge and stay in the
  // cache. Throws std::logic_error where the kernel refuses, and std::runtime_error where a stop was
  // requested (the team turns both into an Error).
  void compute(int worker, std::size_t plane, std::size_t group, std::span<const PixelView> inputs,
               const PixelView& output, const GroupReads& reads, std::span<const PixelView> stored = {});
  void compute(int worker, std::size_t plane, std::size_t group, std::span<const PixelView> inputs,
               const PixelView& output, Size block, std::span<const PixelView> stored = {});

 private:
  // The same a few rows at a time, so that a stop is heeded soon however large the output is.
  void compute_stoppably(int worker, std::size_t plane, std::size_t group, std::span<const PixelView> inputs,
                         const PixelView& output, const GroupReads& reads, std::span<const PixelView> stored);
  void compute_now(int worker, std::size_t plane, std::size_t group, std::span<const PixelView> inputs,
                   const PixelView& output, const GroupReads& reads, std::span<const PixelView> stored);

  // Counters of one worker, on cache lines of their own.
  struct alignas(128) WorkerCounters {
    std::vector<std::vector<GroupCounters>> of_plane;
  };

  std::shared_ptr<const FrameGroups> groups_;
  std::vector<WorkerCounters> workers_;
  Watch watch_;
};

// The runner of the schedule's structure, for frames of these groups, on teams of up to schedule.threads: as
// many as there are, whatever the frames in flight. How large a team a frame gets depends on how many frames
// are there, and the last one of a stream gets all threads; memory for a worker comes with its first use.
[[nodiscard]] std::unique_ptr<StructureRunner> make_runner(const Schedule& schedule,
                                                           std::shared_ptr<const FrameGroups> groups);

// Calls fn(rect) for blocks of at most the given size that cover `area`, row by row. A side of 0 means all of
// it.
template <class Fn> void for_blocks(const Rect& area, Size block, Fn&& fn) {
  const int width = block.width > 0 ? block.width : area.width();
  const int height = block.height > 0 ? block.height : area.height();
  for (int y = area.y0; y < area.y1; y += height) {
    for (int x = area.x0; x < area.x1; x += width) {
      fn(Rect{x, y, std::min(x + width, area.x1), std::min(y + height, area.y1)});
    }
  }
}

// The rows of an area that belong to one of `parts` equal bands, in order.
[[nodiscard]] Rect band_of(const Rect& area, int parts, int part);

}  // namespace millrace::image
