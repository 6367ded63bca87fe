#include "millrace/image/compare/limit.h"

#include "millrace/base/error/clock.h"
#include "millrace/image/execute/structure_runner.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace millrace::image {
namespace {

// 8 KiB of floats, and about twice that for the kernel's input.
constexpr Size tile_size{128, 16};

Rect middle_of(const Rect& rect) {
  const int width = std::min(tile_size.width, rect.width());
  const int height = std::min(tile_size.height, rect.height());
  const int x = rect.x0 + (rect.width() - width) / 2;
  const int y = rect.y0 + (rect.height() - height) / 2;
  return {x, y, x + width, y + height};
}

// Between 0 and 1, like pixels.
void fill(const PixelView& view) {
  if (view.type != ElementType::f32) return;
  for (int y = view.covers.y0; y < view.covers.y1; ++y) {
    for (int x = view.covers.x0; x < view.covers.x1; ++x)
      view.pixel<float>(x, y) = static_cast<float>((7 * x + 13 * y) & 63) / 64;
  }
}

}  // namespace

Result<double> copy_ns(pool::PoolTeam team, const PixelView& from, const PixelView& to, int times) {
  const Rect both{0, 0, std::min(from.covers.width(), to.covers.width()),
                  std::min(from.covers.height(), to.covers.height())};
  const std::size_t row = static_cast<std::size_t>(both.width()) * bytes_of(from.type);
  const std::int64_t start = now_ns();
  for (int i = 0; i < times; ++i) {
    const Status done = team.run([&](int rank) {
      const Rect band = band_of(both, team.size(), rank);
      for (int y = band.y0; y < band.y1; ++y)
        std::memcpy(to.at(0, y), from.at(0, y), row);
    });
    if (!done) return std::unexpected(done.error());
  }
  return static_cast<double>(now_ns() - start);
}

Result<TileArithmetic> TileArithmetic::create(const PlaneLayout& layout, Fusion fusion,
                                              KernelLibrary& library, machine::Isa isa, int workers) {
  TileArithmetic result;
  result.layout_ = std::make_unique<GroupLayout>(lay_out_groups(layout, group_stages(layout, fusion)));
  const auto found = find_kernels(*result.layout_, library, isa);
  if (!found) return std::unexpected(found.error());
  if (!*found) return failure("the kernels have not been compiled");
  const std::vector<Group>& groups = result.layout_->groups;
  std::vector<Rect> needed(groups.size());
  required_of_groups(*result.layout_, whole(result.layout_->output().size()), needed);
  for (std::size_t g = 0; g < groups.size(); ++g) {
    Work work{.tile = middle_of(needed[g]), .pixels = needed[g].pixels(), .interior = {}, .of_worker = {}};
    const GroupReads reads = groups[g].reads(work.tile);
    work.interior = reads.interior;
    for (int w = 0; w < workers; ++w) {
      Tile& tile = work.of_worker.emplace_back();
      std::size_t bytes = Scratch::bytes_for(work.tile, groups[g].type());
      for (int b = 0; b < groups[g].spec.buffers; ++b)
        bytes +=
            Scratch::bytes_for(reads.inputs.at(static_cast<std::size_t>(b)), groups[g].spec.buffer_type(b));
      tile.memory.reserve(bytes);
      for (int b = 0; b < groups[g].spec.buffers; ++b) {
        tile.inputs.push_back(
            tile.memory.take(reads.inputs.at(static_cast<std::size_t>(b)), groups[g].spec.buffer_type(b)));
        fill(tile.inputs.back());
      }
      tile.output = tile.memory.take(work.tile, groups[g].type());
    }
    result.work_.push_back(std::move(work));
  }
  return result;
}

Result<double> TileArithmetic::run_ns(pool::PoolTeam team, double frames) {
  double sum = 0;
  for (std::size_t g = 0; g < work_.size(); ++g) {
    Work& work = work_[g];
    const Group& group = layout_->groups[g];
    const double in_frames = static_cast<double>(work.pixels) * frames / team.size();
    const auto times = std::max<std::int64_t>(1, std::llround(in_frames / work.tile.pixels()));
    const std::int64_t start = now_ns();
    const Status done = team.run([&](int rank) {
      Tile& tile = work.of_worker[static_cast<std::size_t>(rank)];
      for (std::int64_t i = 0; i < times; ++i)
        static_cast<void>(group.kernel->run(tile.inputs, group.arguments, work.interior, tile.output));
    });
    if (!done) return std::unexpected(done.error());
    const auto computed = static_cast<double>(times * work.tile.pixels());
    sum += static_cast<double>(now_ns() - start) * in_frames / computed;
  }
  return sum;
}

}  // namespace millrace::image
