#include "millrace/cli/batch/earlier_work.h"

#include "millrace/base/error/system_reason.h"
#include "millrace/base/file/name_length.h"
#include "millrace/base/file/output_file.h"

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <unistd.h>

namespace millrace::cli {
namespace {

namespace fs = std::filesystem;

bool is_file(const std::string& output) {
  std::error_code missing;
  return output != "null" && !fs::is_other(fs::status(output, missing));
}

// An output that became a link after an earlier batch wrote it leads to a file that batch did not write.
bool is_link(const std::string& output) {
  std::error_code missing;
  return fs::is_symlink(fs::symlink_status(output, missing));
}

fs::path folder_of(const PlannedJob& job) {
  const fs::path parent = fs::path(job.options.output).parent_path();
  return parent.empty() ? fs::path(".") : parent;
}

// For an output in a folder that does not exist yet.
Status check_can_be_made(const fs::path& folder, const std::string& output) {
  std::error_code unknown;
  fs::path there = fs::absolute(folder, unknown).lexically_normal();
  while (there.has_relative_path() && !fs::exists(fs::symlink_status(there, unknown)))
    there = there.parent_path();
  if (!fs::is_directory(there, unknown))
    return usage_error("cannot create the folder '{}': '{}' is not a folder; choose another with -o",
                       folder.string(), there.string());
  if (access(there.c_str(), W_OK | X_OK) != 0)
    return usage_error("cannot create the folder '{}': {}; choose another with -o", folder.string(),
                       system_reason(errno));
  // New folders are on the file system of the one that is there.
  for (const std::string& name : {output, (there / fs::path(output).filename()).string()})
    if (Status nameable = check_name_length(name); !nameable)
      return usage_error("{}: {}", output, nameable.error().message);
  return {};
}

std::string name_in_folder(const PlannedJob& job) { return fs::path(job.options.output).filename().string(); }

}  // namespace

run::KeptRecord* EarlierWork::record_of(const PlannedJob& job) {
  if (!is_file(job.options.output)) return nullptr;
  const auto found = records_.find(folder_of(job));
  return found == records_.end() ? nullptr : found->second.get();
}

Result<run::KeptRecord*> EarlierWork::record_in(const fs::path& folder) {
  auto& record = records_[folder];
  if (record) return record.get();
  record = std::make_unique<run::KeptRecord>(folder);
  // The record's content is only needed to skip finished jobs.
  if (Status read = resume_ ? record->read() : record->check(); !read) return std::unexpected(read.error());
  return record.get();
}

Result<std::vector<EarlierWork::Found>> EarlierWork::look_at(const std::vector<PlannedJob>& jobs,
                                                             const std::stop_token& stop) {
  std::vector<Found> all;
  std::size_t existing = 0;
  std::string first_existing;
  for (const PlannedJob& job : jobs) {
    Found& found = all.emplace_back();
    if (stop.stop_requested())
      return std::unexpected(Error{ErrorKind::interrupted, "interrupted before anything was begun"});
    if (!is_file(job.options.output)) continue;
    const fs::path folder = folder_of(job);
    const auto record = record_in(folder);
    if (!record) return std::unexpected(record.error());
    if (resume_) {
      const run::KeptVerdict verdict = (*record)->verdict(name_in_folder(job), job.identity, stop);
      found = {.done = verdict.kept == run::Kept::done,
               .ours = verdict.kept == run::Kept::again && !is_link(job.options.output),
               .frames = verdict.frames};
    }
    if (found.done) continue;
    const bool may_overwrite = overwrite_ || found.ours;
    std::error_code missing;
    if (!may_overwrite && fs::exists(job.options.output, missing)) {
      if (existing++ == 0) first_existing = job.options.output;
      continue;
    }
    if (!fs::exists(folder, missing)) {
      if (Status possible = check_can_be_made(folder, job.options.output); !possible)
        return std::unexpected(possible.error());
      continue;
    }
    if (Status possible = OutputFile::check(job.options.output, overwrite_if(may_overwrite)); !possible)
      return std::unexpected(possible.error());
  }
  if (existing > 0)
    return usage_error("{}: exists{}{}; add -y to overwrite{}", first_existing,
                       existing == 1   ? ""
                       : existing == 2 ? ", as does 1 other output"
                                       : fmt::format(", as do {} other outputs", existing - 1),
                       resume_ ? ", and no earlier batch is known to have made it" : "",
                       resume_ ? "" : ", or --resume to leave out what is done");
  return all;
}

Result<EarlierWork::Found> EarlierWork::begin(const PlannedJob& job) {
  run::KeptRecord* const record = record_of(job);
  if (record == nullptr) return Found{};
  auto claim = record->claim(name_in_folder(job));
  if (!claim && claim.error().kind == ErrorKind::usage) return std::unexpected(claim.error());
  if (resume_) {
    const run::KeptVerdict verdict = record->verdict(name_in_folder(job), job.identity);
    if (verdict.kept == run::Kept::done) return Found{.done = true, .frames = verdict.frames};
  }
  warn(record->note_begun(name_in_folder(job), job.identity));
  const std::scoped_lock lock(mutex_);
  if (claim) claims_.emplace(&job, std::move(*claim));
  return Found{};
}

void EarlierWork::end(const PlannedJob& job) {
  const std::scoped_lock lock(mutex_);
  claims_.erase(&job);
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
