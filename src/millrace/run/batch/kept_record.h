// KeptRecord: what earlier batches have done in a folder of outputs, kept in a file beside them, so that it
// need not be done again.
#pragma once

#include "millrace/base/descriptor.h"
#include "millrace/base/result.h"

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

// A file as it was at some time.
struct FileStamp {
  std::int64_t bytes = 0;
  std::int64_t changed_ns = 0;  // when its content was last changed

  bool operator==(const FileStamp&) const = default;
};
// Nothing where it is no regular file.
[[nodiscard]] std::optional<FileStamp> stamp_of(const std::filesystem::path& file);
// Of all its bytes. Failure where it cannot be read, interrupted where it is stopped.
[[nodiscard]] Result<std::string> digest_of(const std::filesystem::path& file,
                                            const std::stop_token& stop = {});

// What makes an output what it is.
struct JobIdentity {
  std::string settings;                  // pipeline and options, in one spelling
  std::string program;                   // and codecs, with their versions
  std::string input;                     // its absolute path, or what stands for it
  std::optional<FileStamp> input_stamp;  // none where nobody can tell whether it is still the same

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

// Any thread, and any number of processes in one folder.
//
// A file to which lines are added. The last one of an output counts; now and then those that count are
// written into a new file, which takes the place of the old.
class KeptRecord {
 public:
  // Of the folder; it need not be there yet.
  explicit KeptRecord(std::filesystem::path folder) : folder_(std::move(folder)) {}

  // Takes in what is there; before the first verdict, by one thread. Lines that cannot be understood are
  // passed over: the worst that comes of it is work done again. Failure where there is a file that cannot be
  // read.
  [[nodiscard]] Status read();

  // Looks at the output itself: its size and time, and where only the time differs, at all of it, until
  // stopped.
  [[nodiscard]] KeptVerdict verdict(const std::string& output_name, const JobIdentity& identity,
                                    const std::stop_token& stop = {}) const;

  // The right to make an output, which ends when the descriptor is closed. Takes in what others have noted
  // meanwhile, after read(). Usage error where another job, of this or any other process, has it; failure
  // where nobody can know.
  [[nodiscard]] Result<Descriptor> claim(const std::string& output_name);

  // That the job is about to make this output. Failure where it cannot be written.
  [[nodiscard]] Status note_begun(const std::string& output_name, const JobIdentity& identity);
  // That it has, and the output is complete: not before the disk has it, so that a crash of the machine
  // leaves nothing that seems done and is not.
  [[nodiscard]] Status note_done(const std::string& output_name, const JobIdentity& identity,
                                 std::int64_t frames);

 private:
  struct Opened;

  [[nodiscard]] std::filesystem::path path() const { return folder_ / kept_record_name; }
  [[nodiscard]] Result<Opened> open() const;
  [[nodiscard]] Result<Opened> open_compacted();
  // Of whole lines; how many bytes these are.
  std::int64_t take_in(std::string_view text);
  [[nodiscard]] Status catch_up(const Opened& record);
  // A line of JSON.
  [[nodiscard]] Status append(std::string line);
  [[nodiscard]] Result<bool> compact(const Opened& record) const;
  [[nodiscard]] Status flush(const std::filesystem::path& output) const;
  [[nodiscard]] std::unexpected<Error> cannot_keep(int error) const;

  std::filesystem::path folder_;
  mutable std::mutex mutex_;  // of all that follows
  std::map<std::string, KeptJob> jobs_;
  // What was read of the record: of which file, and how many bytes; below 0 before the first time.
  std::int64_t read_bytes_ = -1;
  std::uint64_t read_inode_ = 0;
  bool looked_through_ = false;  // whether there are lines to be rid of
};

}  // namespace millrace::run
