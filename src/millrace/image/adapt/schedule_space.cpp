#include "millrace/image/adapt/schedule_space.h"

#include "millrace/image/adapt/tile_work.h"
#include "millrace/image/execute/prepared_schedule.h"
#include "millrace/image/execute/shared_groups.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>

#include <fmt/format.h>

namespace millrace::image {
namespace {

constexpr int all = 0;  // of a side

constexpr int tile_widths[] = {64, 128, 256, 512, all};
constexpr int tile_heights[] = {4, 8, 16, 32, 64, 128, all};

bool has_tiles(Structure structure) { return structure != Structure::sequential; }

// What tells whether two fusions differ, and what a structure makes of the pipeline.
struct Groups {
  std::vector<Grouping> of_plane;
  bool gathers = false;  // in a group of its own or not
  bool one_kernel = true;
  bool least = true;     // no lesser fusion groups alike
  bool bearable = true;  // a frame of it, which a trial takes, does not take for ever

  static Groups of(const FrameLayout& layout, Fusion fusion) {
    Groups groups;
    for (const PlaneLayout& plane : layout.planes) {
      if (plane.is_neutral()) continue;
      groups.of_plane.push_back(group_stages(plane, fusion));
      groups.one_kernel = groups.one_kernel && groups.of_plane.back().size() == 1;
      groups.bearable =
          groups.bearable && evaluations_per_pixel(plane, groups.of_plane.back()) <= max_inlined_stages;
      for (const StageLayout& stage : plane.stages)
        groups.gathers = groups.gathers || stage.filter->access == Access::gather;
    }
    return groups;
  }
};

// Rules of what makes sense for one pipeline and frame size.
class Rules {
 public:
  Rules(const FrameLayout& layout, std::span<const Fusion> fusions, const ScheduleFreedom& freedom)
      : first_isa_(freedom.isas.front()), first_affinity_(freedom.affinities.front().arrangement) {
    for (const machine::ArrangementLimit& limit : freedom.affinities)
      most_workers_[limit.arrangement] = limit.most_workers;
    for (const Fusion fusion : fusions) {
      Groups groups = Groups::of(layout, fusion);
      for (const auto& [lesser, known] : groups_) {
        if (lesser < fusion && known.of_plane == groups.of_plane) groups.least = false;
      }
      groups_.emplace(fusion, std::move(groups));
    }
    fits_one_kernel_ = std::ranges::all_of(layout.planes, fits_one_kernel);
    output_ = layout.planes[0].output.size;
  }

  [[nodiscard]] bool valid(const Schedule& s) const {
    return valid_fusion(s) && valid_tile(s) && valid_threads(s) && valid_affinity(s);
  }

  // The least fusion stands for all that group alike.
  [[nodiscard]] bool valid_fusion(const Schedule& s) const {
    const Groups& groups = groups_.at(s.fusion);
    if (!groups.bearable) return false;
    if (is_one_kernel(s.structure)) return fits_one_kernel_ && s.fusion == Fusion::all;
    return groups.least;
  }

  [[nodiscard]] bool valid_tile(const Schedule& s) const {
    const Groups& groups = groups_.at(s.fusion);
    const auto [w, h] = s.tile;
    if (w >= output_.width || h >= output_.height) return false;
    switch (s.structure) {
    case Structure::sequential:
      return w == all && h == all;
    case Structure::backward:
    case Structure::backward_store:
      // Blocks matter where a gather has an interior; else a band is one call.
      if (!groups.gathers) return w == all && h == all;
      return w != all && h != all && h >= 16 && h <= 64;
    case Structure::backward_cached:
      return !groups.one_kernel && w != all && h != all && h >= 8;
    case Structure::tiled:
      return h >= 8;  // which `all` is not
    case Structure::sliding:
      return !groups.one_kernel && (w == all || w >= 256) && h != all && h <= 32;
    }
    return false;
  }

  [[nodiscard]] static bool valid_threads(const Schedule& s) { return s.frames_in_flight <= s.threads; }

 private:
  // Which instructions are fastest does not depend on where threads run. Where the I/O thread runs is a
  // question of who computes what part of one frame.
  [[nodiscard]] bool valid_affinity(const Schedule& s) const {
    using machine::AffinityArrangement;
    if (s.affinity == AffinityArrangement::free) return true;
    if (s.affinity == first_affinity_) return s.threads > 1;
    if (s.affinity != AffinityArrangement::pinned && s.frames_in_flight > 1) return false;
    return s.threads > 1 && s.threads <= most_workers_.at(s.affinity) && s.isa == first_isa_;
  }

  machine::Isa first_isa_;
  machine::AffinityArrangement first_affinity_;
  std::map<machine::AffinityArrangement, int> most_workers_;
  std::map<Fusion, Groups> groups_;
  bool fits_one_kernel_ = true;
  Size output_;
};

// Few enough that the combinations stay a space one can search.
std::vector<int> thread_counts(int most) {
  std::set<int> counts{1, most};
  if (most <= 4)
    counts.insert({std::min(2, most), std::min(3, most)});
  else
    counts.insert({most / 4, most / 2, most - most / 4});
  return {counts.begin(), counts.end()};
}

std::vector<int> in_flight_counts(int threads, int most) {
  std::vector<int> counts;
  for (int f : std::set<int>{1, std::min(2, threads), (threads + 1) / 2, threads}) {
    if (f <= most) counts.push_back(f);
  }
  return counts;
}

template <class T, class Name>
tuning::Knob knob(const char* name, const std::vector<T>& values, bool ordinal, Name&& name_of_value) {
  tuning::Knob result{.name = name, .values = {}, .ordinal = ordinal};
  for (const T& value : values)
    result.values.emplace_back(name_of_value(value));
  return result;
}

template <class T> std::optional<int> index_of(const std::vector<T>& values, const T& value) {
  const auto found = std::ranges::find(values, value);
  if (found == values.end()) return std::nullopt;
  return static_cast<int>(found - values.begin());
}

// What threads that share a frame lose at its end, in pixels of each of them.
constexpr double shared_end = 8000;
constexpr double small_share = 200'000;  // pixels of a frame for each thread
constexpr double spread = 1.03;          // what frames in flight cost the caches
constexpr double most_spread = 16e6;     // pixels of frames in flight: more are more than any cache holds
constexpr double too_much_spread = 1.3;

constexpr double unfused = 1.25;  // what single stages take of the time of those that are fused

// Relative costs as they were on the machines seen so far: a place to start from, nothing to rely on.
// tile_work: what tiles compute of what the frame takes, shared: what sharing between planes leaves of it,
// where the structure has such.
double guess(const Schedule& s, Size output, machine::Isa best, bool pointwise, bool gathers,
             double tile_work, double shared, tuning::Aim aim) {
  double cost = 1;
  switch (s.structure) {
  case Structure::sequential:
    // A kernel that reads and writes each pixel once has nothing to keep in a cache.
    cost = pointwise && s.fusion != Fusion::none ? 1 : 1.3;
    break;
  case Structure::backward:
    cost = 1.5;
    break;
  case Structure::backward_store:
    cost = 3;
    break;
  case Structure::backward_cached:
    cost = 1.15;
    break;
  case Structure::tiled:
    cost = tile_work * shared;
    break;
  case Structure::sliding:
    cost = gathers ? 1.3 : 1;
    break;
  }
  if (!is_one_kernel(s.structure)) {
    if (s.fusion == Fusion::none) cost *= unfused;
    if (s.fusion == Fusion::stencil) cost *= 1.1;
    if (s.fusion == Fusion::all) cost *= 1.4;
  }
  if (has_tiles(s.structure) && !(s.tile == Size{all, all})) {
    // A halo of a pixel around each block, where it is not known better, and the price of a call.
    const double w = s.tile.width == all ? output.width : s.tile.width;
    const double h = s.tile.height == all ? output.height : s.tile.height;
    cost *= (s.structure == Structure::tiled ? 1 : (w + 2) * (h + 2) / (w * h)) + 1000 / (w * h);
  }
  if (s.isa != best) cost *= 1.2;
  // Bound threads wait where others would have moved on, and to bind and free them costs more than a frame.
  if (s.affinity != machine::AffinityArrangement::free) cost *= 1.2;
  const auto pixels = static_cast<double>(output.pixels());
  const double sharers = static_cast<double>(s.threads) / s.frames_in_flight;
  if (sharers > 1) cost *= 1 + shared_end * sharers / pixels;
  if (s.frames_in_flight > 1) {
    cost *= aim == tuning::Aim::throughput ? spread : s.frames_in_flight;
    if (pixels * s.frames_in_flight > most_spread) cost *= too_much_spread;
  }
  return cost / std::pow(s.threads, 0.9);
}

}  // namespace

Result<ScheduleSpace> ScheduleSpace::make(const FrameLayout& layout, const ScheduleFreedom& freedom) {
  ScheduleSpace result;
  KnobValues& values = result.knobs_;
  values.structures = all_structures();
  values.fusions = freedom.fusion ? std::vector{*freedom.fusion} : all_fusions();
  values.widths.assign(std::begin(tile_widths), std::end(tile_widths));
  values.heights.assign(std::begin(tile_heights), std::end(tile_heights));
  values.threads = freedom.threads ? std::vector{*freedom.threads} : thread_counts(freedom.max_threads);
  if (freedom.frames_in_flight) {
    values.in_flight = {*freedom.frames_in_flight};
  } else {
    values.in_flight = in_flight_counts(values.threads.back(), freedom.max_frames_in_flight);
  }
  for (const machine::ArrangementLimit& limit : freedom.affinities)
    values.affinities.push_back(limit.arrangement);
  values.isas = freedom.isas;
  result.output_ = layout.planes[0].output.size;
  const auto any_stage = [&](auto&& is_so) {
    return std::ranges::any_of(layout.planes, [&](const PlaneLayout& plane) {
      return std::ranges::any_of(plane.stages,
                                 [&](const StageLayout& stage) { return is_so(stage.filter->access); });
    });
  };
  result.pointwise_ = !any_stage([](Access access) { return access != Access::pointwise; });
  result.gathers_ = any_stage([](Access access) { return access == Access::gather; });

  const Rules rules(layout, values.fusions, freedom);
  for (const Fusion fusion : values.fusions) {
    std::vector<GroupLayout> planes;
    for (const PlaneLayout& plane : layout.planes)
      if (!plane.is_neutral())
        planes.push_back(group_layout_of(plane, {.structure = Structure::tiled, .fusion = fusion}));
    result.shared_[fusion] = work_left_by_sharing(planes);
    if (planes.empty()) continue;
    for (const int width : values.widths) {
      for (const int height : values.heights) {
        const Schedule tiles{.structure = Structure::tiled, .fusion = fusion, .tile = {width, height}};
        if (rules.valid_fusion(tiles) && rules.valid_tile(tiles))
          result.tile_work_[{fusion, width, height}] = tile_work(planes.front(), tiles.tile);
      }
    }
  }
  auto space = tuning::Space::make(
      {knob("structure", values.structures, false, [](Structure s) { return name_of(s); }),
       knob("fusion", values.fusions, true, [](Fusion f) { return name_of(f); }),
       knob("tile_width", values.widths, true,
            [](int w) { return w == all ? std::string("all") : std::to_string(w); }),
       knob("tile_height", values.heights, true,
            [](int h) { return h == all ? std::string("all") : std::to_string(h); }),
       knob("threads", values.threads, true, [](int t) { return std::to_string(t); }),
       knob("frames_in_flight", values.in_flight, true, [](int f) { return std::to_string(f); }),
       knob("affinity", values.affinities, false,
            [](machine::AffinityArrangement a) { return machine::name_of(a); }),
       knob("isa", values.isas, false, [](machine::Isa i) { return machine::name_of(i); })},
      [&](std::span<const int> indices) { return rules.valid(values.schedule(indices)); },
      [values](std::span<const int> indices) { return to_string(values.schedule(indices)); },
      [&](std::span<const int> first) {
        if (first.size() != 2 && first.size() != 4 && first.size() != 6) return true;
        std::array<int, 8> padded{};  // what is not given is not looked at
        std::ranges::copy(first, padded.begin());
        const Schedule s = values.schedule(padded);
        if (first.size() == 2) return rules.valid_fusion(s);
        return first.size() == 4 ? rules.valid_tile(s) : Rules::valid_threads(s);
      });
  if (!space) return std::unexpected(space.error());
  result.space_ = std::make_unique<tuning::Space>(std::move(*space));

  std::map<std::tuple<Fusion, bool, machine::Isa>, int> known;
  for (int c = 0; c < result.size(); ++c) {
    const Schedule s = result.schedule(c);
    if (s.fusion == Fusion::none) {
      result.build_of_.push_back(-1);
      continue;
    }
    const auto [build, fresh] = known.try_emplace({s.fusion, s.structure == Structure::backward_store, s.isa},
                                                  static_cast<int>(result.builds_.size()));
    if (fresh) {
      KernelBuild& added = result.builds_.emplace_back();
      added.isa = s.isa;
      for (const PlaneLayout& plane : layout.planes) {
        if (plane.is_neutral()) continue;
        for (const Group& group : group_layout_of(plane, s).groups)
          added.specs.push_back(group.spec);
      }
    }
    result.build_of_.push_back(build->second);
  }
  return result;
}

Schedule ScheduleSpace::KnobValues::schedule(std::span<const int> indices) const {
  const auto at = [&](const auto& values, std::size_t knob) { return values[indices[knob]]; };
  return {.structure = at(structures, 0),
          .fusion = at(fusions, 1),
          .tile = {at(widths, 2), at(heights, 3)},
          .threads = at(threads, 4),
          .frames_in_flight = at(in_flight, 5),
          .affinity = at(affinities, 6),
          .isa = at(isas, 7)};
}

Schedule ScheduleSpace::schedule(int candidate) const { return knobs_.schedule(space_->values(candidate)); }

std::optional<int> ScheduleSpace::find(const Schedule& schedule) const {
  const std::optional<int> indices[] = {
      index_of(knobs_.structures, schedule.structure), index_of(knobs_.fusions, schedule.fusion),
      index_of(knobs_.widths, schedule.tile.width),    index_of(knobs_.heights, schedule.tile.height),
      index_of(knobs_.threads, schedule.threads),      index_of(knobs_.in_flight, schedule.frames_in_flight),
      index_of(knobs_.affinities, schedule.affinity),  index_of(knobs_.isas, schedule.isa)};
  std::vector<int> values;
  for (const auto& index : indices) {
    if (!index) return std::nullopt;
    values.push_back(*index);
  }
  return space_->find(values);
}

bool ScheduleSpace::shares_unfused() const {
  const auto single = shared_.find(Fusion::none);
  const auto fused = shared_.find(Fusion::pointwise);
  // As much as guess() takes fusing for.
  return single != shared_.end() && fused != shared_.end() && unfused * single->second < fused->second;
}

std::vector<double> ScheduleSpace::prior(tuning::Aim aim) const {
  std::vector<double> costs;
  for (int c = 0; c < size(); ++c) {
    const Schedule s = schedule(c);
    costs.push_back(guess(s, output_, knobs_.isas.front(), pointwise_, gathers_,
                          work_of_tiles(s.fusion, s.tile), shared_.at(s.fusion), aim));
  }
  return costs;
}

int ScheduleSpace::first_in_flight(int threads, tuning::Aim aim) const {
  const auto pixels = static_cast<double>(output_.pixels());
  const std::vector<int>& counts = knobs_.in_flight;
  if (aim != tuning::Aim::throughput || pixels > small_share * threads) return counts.front();
  const int most = static_cast<int>(std::min<double>(threads, most_spread / pixels));
  // The most of those that the space has.
  return *std::prev(std::ranges::upper_bound(counts, std::max(most, counts.front())));
}

double ScheduleSpace::work_of_tiles(Fusion fusion, Size tile) const {
  const auto known = tile_work_.find({fusion, tile.width, tile.height});
  return known == tile_work_.end() ? 1 : known->second;
}

Size ScheduleSpace::least_work(Fusion fusion, std::span<const Size> tiles) const {
  constexpr double clearly = 1.08;
  const auto work_of = [&](Size tile) { return work_of_tiles(fusion, tile); };
  const Size least = *std::ranges::min_element(tiles, {}, work_of);
  return work_of(tiles.front()) > clearly * work_of(least) ? least : tiles.front();
}

std::vector<double> ScheduleSpace::threads() const {
  std::vector<double> counts;
  for (int c = 0; c < size(); ++c)
    counts.push_back(schedule(c).threads);
  return counts;
}

}  // namespace millrace::image
