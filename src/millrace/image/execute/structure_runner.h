// Executes one frame with a structure. Each runner has the intermediate memory for one frame in flight.
#pragma once

#include "millrace/base/error/result.h"
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

// Source and output planes of one frame; each view covers its whole plane. For a runner, the outputs are the
// computed planes, in the order of its groups. Sources are all planes. If a layout reads several source
// frames, their planes follow each other in its order; the planes of a single frame stand for all of them.
struct FrameTask {
  std::vector<PixelView> sources;
  std::vector<PixelView> destinations;

  // The source that a stage of that layout reads as `input`.
  [[nodiscard]] const PixelView& source(const GroupLayout& plane, int input) const {
    const auto at = static_cast<std::size_t>(plane.layout.places[StageLayout::source_frame(input)]);
    return sources[at % sources.size()];
  }
};

// Work of one worker on one group since the runner was made.
struct GroupCounters {
  std::int64_t pixels = 0;  // number computed
  std::int64_t ns = 0;      // in timed frames
  std::int64_t timed_pixels = 0;
};

// The grouped planes of a frame without neutral ones. Immutable and shared by the runners of all frames in
// flight.
using FrameGroups = std::vector<GroupLayout>;

// What to observe while a frame is processed.
struct Watch {
  bool timed = false;      // times each group; costs two clock readings per kernel call
  CallLog* log = nullptr;  // records every kernel call; may be null
  int frame = 0;           // the frame's index in the log
  // When a stop is requested, no further kernel is called, and the frame ends with an Error. May be null.
  const std::stop_token* stop = nullptr;
};

class StructureRunner {
 public:
  virtual ~StructureRunner() = default;
  StructureRunner(const StructureRunner&) = delete;
  StructureRunner& operator=(const StructureRunner&) = delete;

  // Processes one frame on the team. Returns an Error if the team is larger than the schedule's thread count.
  [[nodiscard]] Status run(const FrameTask& frame, pool::Team& team, const Watch& watch);

  // Sums over all workers, by plane and group. Must not be called while a frame is being processed.
  [[nodiscard]] std::vector<std::vector<GroupCounters>> counters() const;
  // Memory for intermediates.
  [[nodiscard]] virtual std::size_t bytes() const = 0;

 protected:
  StructureRunner(std::shared_ptr<const FrameGroups> groups, int workers);

  [[nodiscard]] virtual Status run_frame(const FrameTask& frame, pool::Team& team) = 0;

  [[nodiscard]] const GroupLayout& plane(std::size_t p) const { return (*groups_)[p]; }
  [[nodiscard]] std::size_t planes() const { return groups_->size(); }
  [[nodiscard]] std::span<const GroupLayout> all_planes() const { return *groups_; }

  // Computes output.covers of one group on the calling worker. inputs: one view per buffer, covering the
  // required pixels. A gathering group is computed in blocks, so that most of them touch no edge and stay in
  // the cache. Throws std::logic_error if the kernel refuses and std::runtime_error if a stop was requested.
  // The team turns both into an Error.
  void compute(int worker, std::size_t plane, std::size_t group, std::span<const PixelView> inputs,
               const PixelView& output, const GroupReads& reads, std::span<const PixelView> stored = {});
  void compute(int worker, std::size_t plane, std::size_t group, std::span<const PixelView> inputs,
               const PixelView& output, Size block, std::span<const PixelView> stored = {});

 private:
  // The same, a few rows at a time, so that a stop takes effect soon even for a large output.
  void compute_stoppably(int worker, std::size_t plane, std::size_t group, std::span<const PixelView> inputs,
                         const PixelView& output, const GroupReads& reads, std::span<const PixelView> stored);
  void compute_now(int worker, std::size_t plane, std::size_t group, std::span<const PixelView> inputs,
                   const PixelView& output, const GroupReads& reads, std::span<const PixelView> stored);

  // Counters of one worker, on separate cache lines to avoid false sharing.
  struct alignas(128) WorkerCounters {
    std::vector<std::vector<GroupCounters>> of_plane;
  };

  std::shared_ptr<const FrameGroups> groups_;
  std::vector<WorkerCounters> workers_;
  Watch watch_;
};

// Makes the runner of the schedule's structure for frames of these groups, on teams of up to schedule.threads
// whatever the number of frames in flight. Team size depends on how many frames are left; the last frame of a
// stream gets all threads. Memory for a worker is allocated on its first use.
[[nodiscard]] std::unique_ptr<StructureRunner> make_runner(const Schedule& schedule,
                                                           std::shared_ptr<const FrameGroups> groups);

// Calls fn(rect) for blocks of at most the given size that cover `area`, row by row. A side of 0 means the
// whole side.
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
