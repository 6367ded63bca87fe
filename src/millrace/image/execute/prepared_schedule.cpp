#include "millrace/image/execute/prepared_schedule.h"

#include "millrace/base/text/byte_count.h"

#include <algorithm>
#include <atomic>

#include <fmt/format.h>

namespace millrace::image {
namespace {

std::string label(const Group& group) {
  std::string text;
  for (const StageLayout& stage : group.layouts) {
    if (!text.empty()) text += '+';
    text += stage.name;
  }
  return text;
}

std::vector<int> nodes_of(const Group& group) {
  std::vector<int> nodes;
  for (const StageLayout& stage : group.layouts)
    if (stage.node >= 0 && std::ranges::find(nodes, stage.node) == nodes.end()) nodes.push_back(stage.node);
  return nodes;
}

StageReports::key_type key_of(std::size_t plane, const Group& group) {
  return {static_cast<int>(plane), fmt::format("{}:{}", group.stages.back(), label(group))};
}

}  // namespace

GroupLayout group_layout_of(const PlaneLayout& layout, const Schedule& schedule) {
  if (schedule.structure == Structure::backward_store) {
    const StoringGroups storing = storing_groups(layout);
    return lay_out_groups(layout, storing.groups, storing.stored);
  }
  return lay_out_groups(
      layout, group_stages(layout, is_one_kernel(schedule.structure) ? Fusion::all : schedule.fusion));
}

PreparedSchedule::PreparedSchedule(const FrameLayout& layout, const Schedule& schedule)
    : schedule_(schedule), groups_(std::make_shared<FrameGroups>()) {
  for (std::size_t p = 0; p < layout.planes.size(); ++p) {
    if (layout.planes[p].is_neutral()) {
      neutral_.add(p, layout.planes[p].neutral);
    } else {
      computed_.push_back(p);
      groups_->push_back(group_layout_of(layout.planes[p], schedule));
    }
  }
}

Result<PreparedSchedule> PreparedSchedule::make(const FrameLayout& layout, const Schedule& schedule) {
  for (const PlaneLayout& plane : layout.planes) {
    if (is_one_kernel(schedule.structure) && !fits_one_kernel(plane)) {
      return usage_error(
          "{} makes one kernel of the whole pipeline, which is too large to compile for this one "
          "({} stages with the conversions at its ends, each repeated wherever a pixel of it is read); "
          "use another structure",
          name_of(schedule.structure), plane.stages.size());
    }
  }
  return PreparedSchedule(layout, schedule);
}

Result<bool> PreparedSchedule::find_kernels(KernelLibrary& library) {
  bool all = true;
  const bool at_once = schedule_.fusion == Fusion::none && !is_one_kernel(schedule_.structure);
  for (GroupLayout& plane : *groups_) {
    const auto found = at_once ? find_kernels_at_once(plane, library, schedule_.isa)
                               : image::find_kernels(plane, library, schedule_.isa);
    if (!found) return found;
    all = all && *found;
  }
  return all;
}

Status PreparedSchedule::await_kernels(KernelLibrary& library, const std::stop_token& stop) {
  for (GroupLayout& plane : *groups_) {
    for (Group& group : plane.groups) {
      auto kernel = library.wait(group.spec, schedule_.isa, stop);
      if (!kernel) return std::unexpected(kernel.error());
      group.kernel = *kernel;
      group.interim = false;
    }
  }
  return {};
}

bool PreparedSchedule::interim() const { return std::ranges::any_of(*groups_, &GroupLayout::interim); }

void PreparedSchedule::replace_interim(KernelLibrary& library) {
  for (GroupLayout& plane : *groups_)
    image::replace_interim(plane, library, schedule_.isa);
}

Status PreparedSchedule::make_runners(std::size_t most_bytes) {
  const auto frames = static_cast<std::size_t>(schedule_.frames_in_flight);
  try {
    while (runners_.size() < frames) {
      runners_.push_back(make_runner(schedule_, groups_));
      // The first runner shows how much the others need. They are not allocated if they would exceed the
      // limit.
      if (frames > 1 && bytes() / runners_.size() > most_bytes / frames) {
        const std::size_t all_bytes = bytes() / runners_.size() * frames;
        const std::string needed = bytes_text(static_cast<double>(all_bytes));
        runners_.clear();
        return failure("{} of {} frames in flight needs {} of memory, more than half of the available memory",
                       name_of(schedule_.structure), frames, needed);
      }
    }
  } catch (const std::bad_alloc&) {
    runners_.clear();
    return failure("there is not enough memory for {} of {} frame{} in flight", name_of(schedule_.structure),
                   frames, frames == 1 ? "" : "s");
  }
  return {};
}

void PreparedSchedule::update(const FrameLayout& layout) {
  for (std::size_t i = 0; i < computed_.size(); ++i) {
    GroupLayout updated = group_layout_of(layout.planes[computed_[i]], schedule_);
    for (std::size_t g = 0; g < updated.groups.size(); ++g) {
      updated.groups[g].kernel = (*groups_)[i].groups[g].kernel;
      updated.groups[g].interim = (*groups_)[i].groups[g].interim;
    }
    (*groups_)[i] = std::move(updated);
  }
}

Status PreparedSchedule::run_frame(StructureRunner& runner, const FrameTask& frame, pool::Team& team,
                                   const Watch& watch) const {
  if (neutral_.empty()) return runner.run(frame, team, watch);
  if (Status filled = neutral_.fill(frame, team); !filled) return filled;
  FrameTask computed{.sources = frame.sources, .destinations = {}};
  for (std::size_t p : computed_)
    computed.destinations.push_back(frame.destinations[p]);
  return runner.run(computed, team, watch);
}

Status PreparedSchedule::run(std::span<const FrameTask> frames, pool::Team& team, const Watch& watch) {
  frames_ += static_cast<std::int64_t>(frames.size());
  if (frames.size() == 1) return run_frame(*runners_[0], frames[0], team, watch);
  // Each part of the team takes the next frame when it is done with one. Relaxed is enough: the counter only
  // assigns frames, and joining the team publishes the results.
  std::vector<Status> results(frames.size());
  std::atomic<std::size_t> next = 0;
  const std::size_t parts = std::min(frames.size(), runners_.size());
  Status done = team.run_teams(static_cast<int>(parts), [&](int part, pool::Team& part_of_team) {
    for (std::size_t f = 0; (f = next.fetch_add(1, std::memory_order_relaxed)) < frames.size();) {
      Watch own = watch;
      own.frame = static_cast<int>(f);
      results[f] = run_frame(*runners_[static_cast<std::size_t>(part)], frames[f], part_of_team, own);
    }
  });
  for (const Status& result : results) {
    if (done && !result) done = result;
  }
  return done;
}

void PreparedSchedule::add_reports(StageReports& sums) const {
  if (frames_ == 0) return;
  std::vector<std::vector<std::vector<GroupCounters>>> counters;  // by runner, plane and group
  for (const auto& runner : runners_)
    counters.push_back(runner->counters());
  for (std::size_t p = 0; p < groups_->size(); ++p) {
    const GroupLayout& plane = (*groups_)[p];
    const std::vector<Rect> regions = required_regions(plane.layout, whole(plane.output().size()));
    for (std::size_t g = 0; g < plane.groups.size(); ++g) {
      const Group& group = plane.groups[g];
      StageReport& sum = sums[key_of(computed_[p], group)];
      sum.stages = label(group);
      sum.nodes = nodes_of(group);
      sum.plane = static_cast<int>(computed_[p]);
      sum.frames += frames_;
      sum.pixels_required += regions[group.stages.back()].pixels() * frames_;
      for (const auto& of_runner : counters) {
        sum.pixels_computed += of_runner[p][g].pixels;
        sum.timed_ns += of_runner[p][g].ns;
        sum.timed_pixels += of_runner[p][g].timed_pixels;
      }
    }
  }
}

std::vector<StageReports::key_type> PreparedSchedule::report_keys() const {
  std::vector<StageReports::key_type> keys;
  for (std::size_t p = 0; p < groups_->size(); ++p) {
    for (const Group& group : (*groups_)[p].groups)
      keys.push_back(key_of(computed_[p], group));
  }
  return keys;
}

std::vector<std::vector<GroupName>> PreparedSchedule::group_names() const {
  std::vector<std::vector<GroupName>> names(groups_->size());
  for (std::size_t p = 0; p < groups_->size(); ++p)
    for (const Group& group : (*groups_)[p].groups)
      names[p].push_back(
          {.stages = label(group), .plane = static_cast<int>(computed_[p]), .size = group.size()});
  return names;
}

std::size_t PreparedSchedule::bytes() const {
  std::size_t sum = 0;
  for (const auto& runner : runners_)
    sum += runner->bytes();
  return sum;
}

}  // namespace millrace::image
