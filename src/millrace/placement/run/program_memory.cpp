#include "millrace/placement/run/program_memory.h"

#include "millrace/base/file/system_file.h"
#include "millrace/machine/limits/cpu_times.h"
#include "millrace/placement/policy/candidates.h"
#include "millrace/placement/policy/machine_state.h"
#include "millrace/placement/program/program_key.h"
#include "millrace/placement/task/task_files.h"

#include <cmath>
#include <utility>

#include <fmt/format.h>

namespace millrace::placement {
namespace {

constexpr const char* processor_times_file = "/proc/stat";

}  // namespace

ProgramMemory::ProgramMemory(tuning::ProfileStore& profiles, const ProgramFile& program,
                             const std::vector<std::string>& command, machine::CpuSet allowed,
                             std::vector<std::string>& notes)
    : profiles_(&profiles), allowed_(std::move(allowed)), program_(program), command_(command),
      processor_times_(read_system_file(processor_times_file).value_or("")) {
  if (profiles_->holds_nothing()) return;
  const auto profile = profiles_->load(key());
  if (!profile) notes.push_back(profile.error().message);
  if (!profile || !*profile) return;
  plan_ = parse_plan((*profile)->plan);
  if (plan_ && !may_be_candidate(*plan_)) {
    notes.push_back(
        fmt::format("the stored plan ({}) is not one that is learnt; it is ignored", to_string(*plan_)));
    plan_.reset();
  }
  // Most of what a plan gains on an idle machine is lost next to other programs. Batch threads wait where
  // others would preempt, and threads with masks cannot move away. Nor would results from now apply to an
  // idle machine.
  if (plan_ && !plan_->untouched() && others_are_running(allowed_)) {
    notes.push_back(
        fmt::format("other programs are running, so the learnt plan ({}) is not used and nothing is stored",
                    to_string(*plan_)));
    plan_.reset();
    keeps_ = false;
  }
}

tuning::ProfileKey ProgramMemory::key() const {
  return program_key(program_, command_, allowed_, size_of_file);
}

void ProgramMemory::keep(Summary& summary) {
  if (!keeps_ || !summary.learnt) return;
  const auto loads =
      machine::parse_load(processor_times_, read_system_file(processor_times_file).value_or(""));
  const double others = taken_share(loads, allowed_, summary.seconds, summary.cpu_seconds);
  if (others > most_for_others) {
    summary.notes.push_back(
        fmt::format("other programs took {:.0f} % of the CPUs, so the result is not stored", 100 * others));
    return;
  }
  tuning::Profile profile{.plan = to_string(summary.plan)};
  if (summary.gain) profile.costs.push_back({to_string(Plan()), std::exp(summary.gain->mean)});
  if (const auto saved = profiles_->save(key(), profile); !saved)
    summary.notes.push_back(saved.error().message);
}

}  // namespace millrace::placement
