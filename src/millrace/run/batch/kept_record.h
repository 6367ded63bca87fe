// KeptRecord: what earlier batches have done in a folder of outputs, kept in a file beside them, so that it
// need not be done again.
#pragma once

#include "millrace/base/result.h"

#include <cstdint>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include <nlohmann/json.hpp>

namespace millrace::run {

inline constexpr const char* kept_record_name = ".millrace-batch.jsonl";

// A file as it was at some time.
struct FileStamp {
  std::int64_t bytes = 0;
  std::int64_t changed_ns = 0;  // when its content was last changed

  bool operator==(const FileStamp&) const = default;
};
// Nothing where it is no regular file.
[[nodiscard]] std::optional<FileStamp> stamp_of(const std::filesystem::path& file);
// Of all its bytes. Failure where it cannot be read.
[[nodiscard]] Result<std::string> digest_of(const std::filesystem::path& file);

// What makes an output what it is.
struct JobIdentity {
  std::string settings;                  // pipeline and options, in one spelling
  std::string input;                     // its absolute path, or what stands for it
  std::optional<FileStamp> input_stamp;  // none where it is no file

  bool operator==(const JobIdentity&) const = default;
};

// A job of an earlier batch.
struct KeptJob {
  JobIdentity identity;
  bool complete = false;  // else it was begun only
  std::int64_t frames = 0;
  FileStamp output_stamp;
  std::string output_digest;
};

// Whether a job is done already.
enum class Kept {
  unknown,  // nothing is known of the output
  done,     // by the same job from the same input, and the output is as it was left
  again,    // ours, but not, or no longer, what the job would make
};
struct KeptVerdict {
  Kept kept = Kept::unknown;
  std::string why;          // for `again`: "the input has changed"
  std::int64_t frames = 0;  // for `done`
};

// Reading and noting from any thread.
class KeptRecord {
 public:
  // Of the folder; empty where there is none. Lines that cannot be read are passed over: the worst that comes
  // of it is work done again.
  explicit KeptRecord(const std::filesystem::path& folder);

  // Looks at the output itself: its size and time, and where only the time differs, at all of it.
  [[nodiscard]] KeptVerdict verdict(const std::string& output_name, const JobIdentity& identity) const;

  // That the job is about to make this output. Failure where it cannot be written.
  [[nodiscard]] Status note_begun(const std::string& output_name, const JobIdentity& identity);
  // That it has, and the output is complete.
  [[nodiscard]] Status note_done(const std::string& output_name, const JobIdentity& identity,
                                 std::int64_t frames);

 private:
  [[nodiscard]] Status append(const nlohmann::ordered_json& line);

  std::filesystem::path folder_;
  std::map<std::string, KeptJob> jobs_;
  std::mutex mutex_;
  bool torn_ = false;  // the file does not end with a line
};

}  // namespace millrace::run
