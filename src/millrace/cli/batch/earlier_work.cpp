#include "millrace/cli/batch/earlier_work.h"

#include "millrace/base/output_file.h"

#include <algorithm>
#include <system_error>

namespace millrace::cli {
namespace {

namespace fs = std::filesystem;

bool is_file(const std::string& output) {
  std::error_code missing;
  return output != "null" && !fs::is_other(fs::status(output, missing));
}

fs::path folder_of(const PlannedJob& job) {
  const fs::path parent = fs::path(job.options.output).parent_path();
  return parent.empty() ? fs::path(".") : parent;
}

std::string name_in_folder(const PlannedJob& job) { return fs::path(job.options.output).filename().string(); }

}  // namespace

run::KeptRecord* EarlierWork::record_of(const PlannedJob& job) {
  if (!is_file(job.options.output)) return nullptr;
  const auto found = records_.find(folder_of(job));
  return found == records_.end() ? nullptr : found->second.get();
}

Result<std::vector<EarlierWork::Found>> EarlierWork::look_at(const std::vector<PlannedJob>& jobs) {
  std::vector<Found> all;
  std::size_t existing = 0;
  std::string first_existing;
  for (const PlannedJob& job : jobs) {
    Found& found = all.emplace_back();
    if (!is_file(job.options.output)) continue;
    const fs::path folder = folder_of(job);
    auto& record = records_[folder];
    if (!record) record = std::make_unique<run::KeptRecord>(folder);
    if (resume_) {
      const run::KeptVerdict verdict = record->verdict(name_in_folder(job), job.identity);
      found = {.done = verdict.kept == run::Kept::done,
               .ours = verdict.kept == run::Kept::again,
               .frames = verdict.frames};
    }
    if (found.done) continue;
    const bool may_overwrite = overwrite_ || found.ours;
    std::error_code missing;
    if (!may_overwrite && fs::exists(job.options.output, missing)) {
      if (existing++ == 0) first_existing = job.options.output;
      continue;
    }
    if (!fs::exists(folder, missing)) continue;  // it will be made
    if (Status possible = OutputFile::check(job.options.output, overwrite_if(may_overwrite)); !possible)
      return std::unexpected(possible.error());
  }
  if (existing > 0)
    return usage_error("{}: exists{}{}; add -y to overwrite{}", first_existing,
                       existing > 1 ? fmt::format(", as do {} other outputs", existing - 1) : "",
                       resume_ ? ", and no earlier batch is known to have made it" : "",
                       resume_ ? "" : ", or --resume to leave out what is done");
  return all;
}

void EarlierWork::note_begun(const PlannedJob& job) {
  if (run::KeptRecord* record = record_of(job)) warn(record->note_begun(name_in_folder(job), job.identity));
}

void EarlierWork::note_done(const PlannedJob& job, std::int64_t frames) {
  if (run::KeptRecord* record = record_of(job))
    warn(record->note_done(name_in_folder(job), job.identity, frames));
}

void EarlierWork::warn(const Status& noted) {
  if (noted) return;
  const std::scoped_lock lock(mutex_);
  if (std::ranges::find(warnings_, noted.error().message) == warnings_.end())
    warnings_.push_back(noted.error().message);
}

std::vector<std::string> EarlierWork::warnings() const {
  const std::scoped_lock lock(mutex_);
  return warnings_;
}

}  // namespace millrace::cli
