// EarlierWork: finds the jobs that an earlier batch has done, by the records next to their outputs, and
// updates those records.
#pragma once

#include "millrace/cli/batch/batch_options.h"
#include "millrace/run/batch/kept_record.h"

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <vector>

namespace millrace::cli {

class EarlierWork {
 public:
  struct Found {
    bool done = false;        // the job can be skipped
    bool ours = false;        // the existing output may be overwritten
    std::int64_t frames = 0;  // of the finished output
  };

  // overwrite, resume: the user's options.
  EarlierWork(bool overwrite, bool resume) : overwrite_(overwrite), resume_(resume) {}

  // Indexed by job. Usage error if an output exists and must not be overwritten, or cannot be written.
  // Failure if a record cannot be read; interrupted if stopped.
  [[nodiscard]] Result<std::vector<Found>> look_at(const std::vector<PlannedJob>& jobs,
                                                   const std::stop_token& stop);

  // Thread-safe. Call them when a job begins, is complete, and has ended in any way. begin() reports the job
  // as done if another batch has done it meanwhile, and fails if another batch is working on it. If a record
  // cannot be written, a warning says so and the work continues.
  [[nodiscard]] Result<Found> begin(const PlannedJob& job);
  void note_done(const PlannedJob& job, std::int64_t frames);
  void end(const PlannedJob& job);

  [[nodiscard]] std::vector<std::string> warnings() const;

 private:
  // Null for outputs that are not files.
  [[nodiscard]] run::KeptRecord* record_of(const PlannedJob& job);
  [[nodiscard]] Result<run::KeptRecord*> record_in(const std::filesystem::path& folder);
  void warn(const Status& noted);

  bool overwrite_;
  bool resume_;
  std::map<std::filesystem::path, std::unique_ptr<run::KeptRecord>> records_;  // complete after look_at()
  mutable std::mutex mutex_;                                                   // guards all members below
  std::map<const PlannedJob*, Descriptor> claims_;
  std::vector<std::string> warnings_;
};

}  // namespace millrace::cli
