// KeptRecord: a file next to the outputs that records finished jobs, so that later batches can skip them.
#pragma once

#include "millrace/base/descriptor/descriptor.h"
#include "millrace/base/error/result.h"

#include <cstdint>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>

namespace millrace::run {

inline constexpr const char* kept_record_name = ".millrace-batch.jsonl";

// Size and time of a file at some moment.
struct FileStamp {
  std::int64_t bytes = 0;
  std::int64_t changed_ns = 0;  // modification time

  bool operator==(const FileStamp&) const = default;
};
// Nullopt unless it is a regular file.
[[nodiscard]] std::optional<FileStamp> stamp_of(const std::filesystem::path& file);
// Digest of all bytes. Failure if the file cannot be read, interrupted if stopped.
[[nodiscard]] Result<std::string> digest_of(const std::filesystem::path& file,
                                            const std::stop_token& stop = {});

// Everything that determines an output.
struct JobIdentity {
  std::string settings;                  // canonical text of the pipeline and the options
  std::string program;                   // millrace and codecs, with their versions
  std::string input;                     // absolute path, or a description of an input that is not a file
  std::optional<FileStamp> input_stamp;  // nullopt if changes of the input cannot be detected

  bool operator==(const JobIdentity&) const = default;
};

// A job of an earlier batch.
struct KeptJob {
  JobIdentity identity;
  bool complete = false;  // false: only begun
  std::int64_t frames = 0;
  FileStamp output_stamp;
  std::string output_digest;
};

// Whether a job can be skipped.
enum class Kept {
  unknown,  // the record has no entry for the output
  done,     // the same job from the same input, and the output is unchanged
  again,    // an earlier output that the job would not, or no longer, make
};
struct KeptVerdict {
  Kept kept = Kept::unknown;
  std::string why;          // for `again`: "the input has changed"
  std::int64_t frames = 0;  // for `done`
};

// Thread-safe, also between processes that use one folder.
//
// The file is append-only. The last line of an output counts. Now and then the lines that count are written
// to a new file, which replaces the old one.
class KeptRecord {
 public:
  // The folder need not exist yet.
  explicit KeptRecord(std::filesystem::path folder) : folder_(std::move(folder)) {}

  // Usage error if what is there is a link or another user's file: no line is ever read from it or
  // written to it.
  [[nodiscard]] Status check() const;
  // Reads the existing record, once, by one thread, before the first verdict. Lines that cannot be parsed are
  // skipped; at worst a job is done again. Failure if the file exists but cannot be read; usage errors of
  // check().
  [[nodiscard]] Status read();

  // Checks the size and time of the output itself. If only the time differs, compares the content until
  // stopped.
  [[nodiscard]] KeptVerdict verdict(const std::string& output_name, const JobIdentity& identity,
                                    const std::stop_token& stop = {}) const;

  // Claims the right to write an output, until the descriptor is closed. Also reads what others have recorded
  // since read(). Usage error if another job of any process holds the claim; failure if that cannot be
  // determined.
  [[nodiscard]] Result<Descriptor> claim(const std::string& output_name);

  // Records that the job begins to write this output. Failure if the record cannot be written.
  [[nodiscard]] Status note_begun(const std::string& output_name, const JobIdentity& identity);
  // Records that the output is complete. Syncs the output to disk first, so that after a crash of the machine
  // no incomplete output counts as done.
  [[nodiscard]] Status note_done(const std::string& output_name, const JobIdentity& identity,
                                 std::int64_t frames);

 private:
  struct Opened;

  [[nodiscard]] std::filesystem::path path() const { return folder_ / kept_record_name; }
  [[nodiscard]] Result<Opened> open() const;
  [[nodiscard]] Result<Opened> open_compacted();
  // Parses complete lines and returns their number of bytes.
  std::int64_t take_in(std::string_view text);
  [[nodiscard]] Status catch_up(const Opened& record);
  // Appends a line of JSON.
  [[nodiscard]] Status append(std::string line);
  [[nodiscard]] Result<bool> compact(const Opened& record) const;
  [[nodiscard]] Status flush(const std::filesystem::path& output) const;
  [[nodiscard]] std::unexpected<Error> cannot_keep(int error) const;

  std::filesystem::path folder_;
  mutable std::mutex mutex_;  // guards all members below
  std::map<std::string, KeptJob> jobs_;
  // File (inode) and number of bytes of the record read so far; negative before the first read.
  std::int64_t read_bytes_ = -1;
  std::uint64_t read_inode_ = 0;
  bool looked_through_ = false;  // whether the file was checked for superseded lines
};

}  // namespace millrace::run
