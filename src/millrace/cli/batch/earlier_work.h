// EarlierWork: which jobs of a batch were done by an earlier one, by the records beside their outputs, and
// the notes for the next one.
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
    bool done = false;        // nothing is left to do
    bool ours = false;        // what is there may be overwritten
    std::int64_t frames = 0;  // of what is done
  };

  // overwrite, resume: as asked for.
  EarlierWork(bool overwrite, bool resume) : overwrite_(overwrite), resume_(resume) {}

  // By job. Usage errors where an output exists that is not to be overwritten, or cannot be written; failure
  // where the record of what is done cannot be read; interrupted where it is stopped.
  [[nodiscard]] Result<std::vector<Found>> look_at(const std::vector<PlannedJob>& jobs,
                                                   const std::stop_token& stop);

  // Any thread: when a job begins, is complete, and has ended in any way. Nothing is left to do where another
  // batch has done it meanwhile; failure where one is at it. Where a note cannot be kept, a warning says so;
  // the work goes on.
  [[nodiscard]] Result<Found> begin(const PlannedJob& job);
  void note_done(const PlannedJob& job, std::int64_t frames);
  void end(const PlannedJob& job);

  [[nodiscard]] std::vector<std::string> warnings() const;

 private:
  // Null for outputs that are no files.
  [[nodiscard]] run::KeptRecord* record_of(const PlannedJob& job);
  [[nodiscard]] Result<run::KeptRecord*> record_in(const std::filesystem::path& folder);
  void warn(const Status& noted);

  bool overwrite_;
  bool resume_;
  std::map<std::filesystem::path, std::unique_ptr<run::KeptRecord>> records_;  // complete after look_at()
  mutable std::mutex mutex_;                                                   // of all that follows
  std::map<const PlannedJob*, Descriptor> claims_;
  std::vector<std::string> warnings_;
};

}  // namespace millrace::cli
