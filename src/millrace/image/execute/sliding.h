// Structure `sliding`, see schedule.h.
#pragma once

#include "millrace/image/execute/plane_buffer.h"
#include "millrace/image/execute/structure_runner.h"

namespace millrace::image {

// The rows of an intermediate that are kept while a worker walks through its band: a window that moves in
// either direction with the requested rows. Its columns are fixed for a strip.
class RowWindow {
 public:
  // Starts a new strip with nothing kept. `columns` are the columns [x0, x1) of the plane that the strip
  // needs; `rows` is the maximum number of rows per step.
  void start(int x0, int x1, int rows, ElementType type);

  // Makes the rows of `needed` available. Moves the window and returns the rows that have to be computed
  // first: up to two ranges, above and below the kept rows.
  struct Missing {
    Rect above;
    Rect below;
  };
  [[nodiscard]] Missing move_to(const Rect& needed);

  // A view of rows inside the window.
  [[nodiscard]] PixelView view(const Rect& rows) const;
  [[nodiscard]] PixelView view() const { return view(kept_); }
  [[nodiscard]] std::size_t bytes() const { return buffer_.bytes(); }

 private:
  PlaneBuffer buffer_;
  ElementType type_ = ElementType::f32;
  int capacity_ = 0;  // in rows
  int base_ = 0;      // row of the plane at the start of the buffer
  Rect kept_;
};

class SlidingRunner final : public StructureRunner {
 public:
  // tile.width: width of a strip; tile.height: rows per step.
  SlidingRunner(std::shared_ptr<const FrameGroups> groups, int workers, Size tile);
  [[nodiscard]] std::size_t bytes() const override;

 private:
  struct alignas(128) WorkerMemory {
    std::vector<RowWindow> windows;  // by group, except the last one
    std::vector<Rect> regions;
    std::vector<Rect> strip;  // by group: the part that the current strip needs
    std::vector<int> most_rows;
  };

  Status run_frame(const FrameTask& frame, pool::Team& team) override;
  void slide(const FrameTask& frame, std::size_t plane, const Rect& strip, int rank);
  void step(const FrameTask& frame, std::size_t plane, const Rect& rows, int rank);

  Size tile_;
  std::vector<WorkerMemory> workers_;
};

}  // namespace millrace::image
