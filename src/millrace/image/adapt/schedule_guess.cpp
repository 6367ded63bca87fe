#include "millrace/image/adapt/schedule_guess.h"

#include "millrace/image/adapt/tile_work.h"
#include "millrace/image/execute/prepared_schedule.h"
#include "millrace/image/execute/shared_groups.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>
#include <vector>

namespace millrace::image {
namespace {

constexpr int all = 0;  // the whole side

// Loss of threads that share a frame at its end, in pixels per thread.
constexpr double shared_end = 8000;
constexpr double small_share = 200'000;  // pixels of a frame per thread
constexpr double spread = 1.03;          // cache cost of frames in flight
constexpr double most_spread = 16e6;     // pixels of frames in flight that exceed every cache
constexpr double too_much_spread = 1.3;

// Usable share of a cache, which other virtual machines may share; and the number of float planes in use at a
// time: the input and output of a stage.
constexpr double share_of_cache = 0.25;
constexpr double planes_alive = 2;

constexpr double unfused = 1.25;  // time of single stages relative to fused ones

}  // namespace

ScheduleGuess::ScheduleGuess(const FrameLayout& layout, ScheduleFreedom freedom, tuning::Aim aim)
    : layout_(&layout), freedom_(std::move(freedom)), aim_(aim), output_(layout.planes[0].output.size) {
  const auto any_stage = [&](auto&& is_so) {
    return std::ranges::any_of(layout.planes, [&](const PlaneLayout& plane) {
      return std::ranges::any_of(
          plane.stages, [&](const StageLayout& stage) { return is_so(stage.filter->simple().access); });
    });
  };
  pointwise_ = !any_stage([](Access access) { return access != Access::pointwise; });
  gathers_ = any_stage([](Access access) { return access == Access::gather; });
}

double ScheduleGuess::cost(const Schedule& s) {
  double cost = 1;
  switch (s.structure) {
  case Structure::sequential:
    // A kernel that reads and writes each pixel once has nothing to keep in a cache.
    if (!pointwise_ || s.fusion == Fusion::none) cost = 1.3;
    if (!gathers_ && stays_cached(s.frames_in_flight)) cost = 0.95;
    break;
  case Structure::backward:
    cost = 1.5 * inlined(Fusion::all);
    break;
  case Structure::backward_store:
    cost = 3 * inlined(Fusion::all);
    break;
  case Structure::backward_cached:
    cost = 1.15;
    break;
  case Structure::tiled:
    cost = work_of_tiles(s.fusion, s.tile) * of(s.fusion).shared;
    break;
  case Structure::sliding:
    cost = gathers_ ? 1.3 : 1;
    break;
  }
  if (!is_one_kernel(s.structure)) {
    if (s.fusion == Fusion::none) cost *= unfused;
    if (s.fusion == Fusion::stencil) cost *= 1.1 * inlined(s.fusion);
    if (s.fusion == Fusion::all) cost *= 1.4 * inlined(s.fusion);
  }
  if (s.structure != Structure::sequential && !(s.tile == Size{all, all})) {
    // Assumes a border of one pixel around each block unless more is known, plus the price of a call.
    const double w = s.tile.width == all ? output_.width : s.tile.width;
    const double h = s.tile.height == all ? output_.height : s.tile.height;
    cost *= (s.structure == Structure::tiled ? 1 : (w + 2) * (h + 2) / (w * h)) + 1000 / (w * h);
  }
  if (s.isa != freedom_.isas.front()) cost *= 1.2;
  // Pinned threads wait when others could migrate, and pinning and unpinning costs more than a frame.
  if (s.affinity != machine::AffinityArrangement::free) cost *= 1.2;
  const auto pixels = static_cast<double>(output_.pixels());
  const double sharers = static_cast<double>(s.threads) / s.frames_in_flight;
  if (sharers > 1) cost *= 1 + shared_end * sharers / pixels;
  if (s.frames_in_flight > 1) {
    cost *= aim_ == tuning::Aim::throughput ? spread : s.frames_in_flight;
    if (pixels * s.frames_in_flight > most_spread) cost *= too_much_spread;
  }
  return cost / std::pow(s.threads, 0.9);
}

bool ScheduleGuess::stays_cached(int frames_in_flight) const {
  const double bytes =
      planes_alive * sizeof(float) * static_cast<double>(output_.pixels()) * frames_in_flight;
  return bytes <= share_of_cache * static_cast<double>(freedom_.cache_bytes);
}

bool ScheduleGuess::shares_unfused() {
  // The same factor as in cost().
  return unfused * of(Fusion::none).shared < of(Fusion::pointwise).shared;
}

Size ScheduleGuess::least_work(Fusion fusion, std::span<const Size> tiles) {
  constexpr double clearly = 1.04;
  const auto work_of = [&](Size tile) { return work_of_tiles(fusion, tile); };
  const Size least = *std::ranges::min_element(tiles, {}, work_of);
  return work_of(tiles.front()) > clearly * work_of(least) ? least : tiles.front();
}

int ScheduleGuess::first_in_flight(int threads, std::span<const int> counts) const {
  const auto pixels = static_cast<double>(output_.pixels());
  if (aim_ != tuning::Aim::throughput || pixels > small_share * threads) return counts.front();
  const int most = static_cast<int>(std::min<double>(threads, most_spread / pixels));
  // The largest count available.
  return *std::prev(std::ranges::upper_bound(counts, std::max(most, counts.front())));
}

ScheduleGuess::OfFusion& ScheduleGuess::of(Fusion fusion) {
  const auto [known, is_new] = of_fusion_.try_emplace(fusion);
  if (!is_new) return known->second;
  std::vector<GroupLayout> planes;
  for (const PlaneLayout& plane : layout_->planes)
    if (!plane.is_neutral())
      planes.push_back(group_layout_of(plane, {.structure = Structure::tiled, .fusion = fusion}));
  known->second.shared = work_left_by_sharing(planes);
  for (const GroupLayout& plane : planes)
    known->second.computed += frame_work(plane);
  if (!planes.empty()) known->second.plane = std::move(planes.front());
  return known->second;
}

double ScheduleGuess::inlined(Fusion fusion) {
  const double points = of(Fusion::pointwise).computed;
  return points > 0 ? of(fusion).computed / points : 1;
}

double ScheduleGuess::work_of_tiles(Fusion fusion, Size tile) {
  OfFusion& known = of(fusion);
  if (!known.plane || tile.width >= output_.width || tile.height >= output_.height) return 1;
  const auto [work, is_new] = known.work.try_emplace({tile.width, tile.height}, 1);
  if (is_new) work->second = tile_work(*known.plane, tile);
  return work->second;
}

}  // namespace millrace::image
