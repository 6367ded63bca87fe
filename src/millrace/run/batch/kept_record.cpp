#include "millrace/run/batch/kept_record.h"

#include "millrace/base/descriptor/descriptor.h"
#include "millrace/base/descriptor/full_transfer.h"
#include "millrace/base/error/system_reason.h"
#include "millrace/base/file/file_lock.h"
#include "millrace/base/file/input_file.h"
#include "millrace/base/file/own_file.h"
#include "millrace/base/file/pending_file.h"
#include "millrace/base/text/json_text.h"
#include "millrace/base/text/printable.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <fcntl.h>
#include <iterator>
#include <list>
#include <memory>
#include <span>
#include <string_view>
#include <unistd.h>
#include <unordered_map>
#include <utility>
#include <vector>
#include <xxhash.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>

namespace millrace::run {
namespace {

constexpr std::uint64_t most_record_bytes = std::uint64_t{1} << 30;
constexpr int format_version = 1;

// Bytes far beyond the end of the record are used for locks: one for reading or writing the record, and the
// following ones for the outputs being written.
constexpr off_t record_lock = off_t{1} << 40;
constexpr off_t first_claim = record_lock + 1;
constexpr off_t claims = off_t{1} << 60;

std::string stamp_text(const FileStamp& stamp) {
  return fmt::format(R"({{"bytes":{},"changed_ns":{}}})", stamp.bytes, stamp.changed_ns);
}

FileStamp stamp_from(const nlohmann::json& json) {
  return {json.at("bytes").get<std::int64_t>(), json.at("changed_ns").get<std::int64_t>()};
}

// File names are bytes and JSON is UTF-8, so names are stored and compared as printed. Returns an unclosed
// object.
std::string line_of(const std::string& output, const JobIdentity& identity, bool complete) {
  const auto quoted = [](const std::string& bytes) { return json_text(printable(bytes)); };
  std::string line = fmt::format(
      R"({{"version":{},"output":{},"complete":{},"input":{},"settings":{},"program":{})", format_version,
      quoted(output), complete, quoted(identity.input), quoted(identity.settings), quoted(identity.program));
  if (identity.input_stamp) line += fmt::format(R"(,"input_file":{})", stamp_text(*identity.input_stamp));
  return line;
}

// Parses one of our lines; otherwise the JSON library throws.
std::pair<std::string, KeptJob> read_line(const nlohmann::json& line) {
  KeptJob job;
  job.identity.input = line.at("input").get<std::string>();
  job.identity.settings = line.at("settings").get<std::string>();
  if (line.contains("input_file")) job.identity.input_stamp = stamp_from(line["input_file"]);
  job.identity.program = line.value("program", "");  // missing in lines of earlier versions
  job.complete = line.at("complete").get<bool>();
  if (job.complete) {
    job.frames = line.at("frames").get<std::int64_t>();
    job.output_stamp = stamp_from(line.at("output_file"));
    job.output_digest = line.at("xxh3").get<std::string>();
  }
  return {line.at("output").get<std::string>(), std::move(job)};
}

// Calls `each` with every line and its JSON value; null if it is not valid JSON.
template <class Each> void for_lines(std::string_view text, const Each& each) {
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    each(line, nlohmann::json::parse(line.begin(), line.end(), nullptr, false));
  }
}

bool is_ours(const nlohmann::json& line) {
  return line.is_object() && line.contains("version") && line["version"] == format_version;
}

// Opens the record itself. Another user who may write to the folder must not be able to redirect lines to a
// file elsewhere, or to claim that an output is ours to overwrite. Closed, with errno set, if it cannot be
// opened; failure if it is no regular file; usage error for any other file that is not our own.
Result<Descriptor> open_own(const std::filesystem::path& path, int flags) {
  const auto refused = [&path](std::string_view what) {
    return usage_error("{}: is {}, and a batch records finished jobs only in a file of its own; remove it",
                       path.string(), what);
  };
  auto file = open_own_file(path, flags);
  if (file) return std::move(*file);
  switch (file.error().kind) {
  case NotOwnFile::Kind::unusable:
    errno = file.error().error;
    return Descriptor();
  case NotOwnFile::Kind::not_regular:
    return failure("cannot open the record of finished jobs '{}': not a regular file", path.string());
  default:
    return refused(reason_of(file.error()));
  }
}

Result<std::string> text_of(int file, const std::filesystem::path& path) {
  struct stat status{};
  if (fstat(file, &status) != 0) return failure("cannot read '{}': {}", path.string(), system_reason(errno));
  if (static_cast<std::uint64_t>(status.st_size) > most_record_bytes)
    return failure("cannot read '{}': larger than {} bytes", path.string(), most_record_bytes);
  std::string text(static_cast<std::size_t>(status.st_size), '\0');
  const Transfer done = read_all_at(file, 0, std::as_writable_bytes(std::span(text)));
  if (done.error != 0) return failure("cannot read '{}': {}", path.string(), system_reason(done.error));
  text.resize(done.bytes);  // fewer if the file was shortened meanwhile
  return text;
}

// Returns 0 or the error number.
int flush_file(const std::filesystem::path& path, int flags) {
  const auto file = Descriptor::owned(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | flags));
  if (!file.is_open()) return errno;
  return fsync(file.get()) == 0 ? 0 : errno;
}

}  // namespace

struct KeptRecord::Opened {
  Descriptor file;
  bool locked = false;
};

std::optional<FileStamp> stamp_of(const std::filesystem::path& file) {
  struct stat status{};
  if (stat(file.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  return FileStamp{status.st_size,
                   std::int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec};
}

Result<std::string> digest_of(const std::filesystem::path& file, const std::stop_token& stop) {
  const auto opened = InputFile::open(file.string());
  if (!opened) return std::unexpected(opened.error());
  const std::unique_ptr<XXH3_state_t, decltype(&XXH3_freeState)> state(XXH3_createState(), &XXH3_freeState);
  if (!state || XXH3_128bits_reset(state.get()) == XXH_ERROR) return failure("out of memory");
  std::vector<std::byte> buffer(std::size_t{1} << 18);
  for (;;) {
    if (stop.stop_requested())
      return std::unexpected(Error{ErrorKind::interrupted, file.string() + ": reading was stopped"});
    const auto count = (*opened)->read(buffer);
    if (!count) return std::unexpected(count.error());
    if (*count == 0) break;
    XXH3_128bits_update(state.get(), buffer.data(), *count);
  }
  const XXH128_hash_t hash = XXH3_128bits_digest(state.get());
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

std::int64_t KeptRecord::take_in(std::string_view text) {
  text = text.substr(0, text.rfind('\n') + 1);
  for_lines(text, [this](std::string_view, const nlohmann::json& line) {
    if (!is_ours(line)) return;
    try {
      auto [output, job] = read_line(line);
      jobs_.insert_or_assign(std::move(output), std::move(job));
    } catch (const nlohmann::json::exception&) {
      return;
    }
  });
  return std::ssize(text);
}

Status KeptRecord::check() const {
  const auto file = open_own(path(), O_RDONLY);
  if (!file && file.error().kind == ErrorKind::usage) return std::unexpected(file.error());
  return {};
}

Status KeptRecord::read() {
  const auto file = open_own(path(), O_RDONLY);
  const int error = errno;
  if (!file) return std::unexpected(file.error());
  struct stat status{};
  Result<std::string> text;
  if (file->is_open() && fstat(file->get(), &status) == 0)
    text = text_of(file->get(), path());
  else if (error != ENOENT)
    text = failure("cannot open '{}': {}", path().string(), system_reason(error));
  if (!text)
    return failure("{}; this record says which jobs are done; without --resume all jobs are done again",
                   text.error().message);
  const std::scoped_lock lock(mutex_);
  read_bytes_ = take_in(*text);
  read_inode_ = status.st_ino;
  return {};
}

Status KeptRecord::catch_up(const Opened& record) {
  struct stat status{};
  if (read_bytes_ < 0 || fstat(record.file.get(), &status) != 0) return {};
  if (status.st_ino != read_inode_ || status.st_size < read_bytes_) read_bytes_ = 0;
  std::string text(static_cast<std::size_t>(status.st_size - read_bytes_), '\0');
  const Transfer done = read_all_at(record.file.get(), static_cast<std::uint64_t>(read_bytes_),
                                    std::as_writable_bytes(std::span(text)));
  if (done.error != 0) return cannot_keep(done.error);
  read_bytes_ += take_in(text);
  read_inode_ = status.st_ino;
  return {};
}

KeptVerdict KeptRecord::verdict(const std::string& output_name, const JobIdentity& identity,
                                const std::stop_token& stop) const {
  KeptJob job;
  {
    const std::scoped_lock lock(mutex_);
    const auto found = jobs_.find(printable(output_name));
    if (found == jobs_.end()) return {};
    job = found->second;
  }
  const auto again = [](const char* why) { return KeptVerdict{Kept::again, why, 0}; };
  const std::filesystem::path output = folder_ / output_name;
  const auto now = stamp_of(output);
  if (!job.complete) return again("it was not completed");
  if (!now) return again("the output is gone");
  if (job.identity.settings != printable(identity.settings)) return again("pipeline or options have changed");
  if (job.identity.program != printable(identity.program))
    return again("it was made by another version of millrace or its codecs");
  if (job.identity.input != printable(identity.input)) return again("it was made from another input");
  if (!identity.input_stamp) return again("nobody can tell whether the input is still the same");
  if (!(job.identity.input_stamp == identity.input_stamp)) return again("the input has changed");
  if (now->bytes != job.output_stamp.bytes) return again("the output has been changed");
  // Copying a folder can change times.
  if (*now != job.output_stamp) {
    const auto digest = digest_of(output, stop);
    if (!digest || *digest != job.output_digest) return again("the output has been changed");
  }
  return {Kept::done, "", job.frames};
}

Status KeptRecord::note_begun(const std::string& output_name, const JobIdentity& identity) {
  return append(line_of(output_name, identity, false) + "}");
}

Status KeptRecord::note_done(const std::string& output_name, const JobIdentity& identity,
                             std::int64_t frames) {
  const std::filesystem::path output = folder_ / output_name;
  const auto stamp = stamp_of(output);
  if (!stamp) return {};  // a pipe or device cannot be found again
  if (Status own = check(); !own) return own;
  if (Status flushed = flush(output); !flushed) return flushed;
  const auto digest = digest_of(output);
  if (!digest) return std::unexpected(digest.error());
  return append(line_of(output_name, identity, true) +
                fmt::format(R"(,"frames":{},"output_file":{},"xxh3":{}}})", frames, stamp_text(*stamp),
                            json_text(*digest)));
}

std::unexpected<Error> KeptRecord::cannot_keep(int error) const {
  return failure("cannot write the record of finished jobs '{}': {}", path().string(), system_reason(error));
}

// Flushes the record first, so that a finished output is always known as ours.
Status KeptRecord::flush(const std::filesystem::path& output) const {
  if (const int error = flush_file(path(), O_NOFOLLOW); error != 0 && error != ENOENT)
    return cannot_keep(error);
  if (const int error = flush_file(output, 0); error != 0)
    return failure("{}: may not be on the disk yet ({}), so --resume will make it again", output.string(),
                   system_reason(error));
  // Flushes the output's name. Some file systems cannot flush folders.
  static_cast<void>(flush_file(folder_.empty() ? "." : folder_, O_DIRECTORY));
  return {};
}

// Compacting replaces the record's file while the old file is locked.
Result<KeptRecord::Opened> KeptRecord::open() const {
  constexpr std::chrono::seconds patience{5};
  for (;;) {
    auto own = open_own(path(), O_RDWR | O_APPEND | O_CREAT);
    if (!own) return std::unexpected(own.error());
    if (!own->is_open()) return cannot_keep(errno);
    Opened record{.file = *std::move(own)};
    // Without locks, at worst a line is lost and its job is done again.
    record.locked = lock_byte(record.file.get(), record_lock, patience) == 0;
    struct stat here{};
    struct stat named{};
    const bool same = fstat(record.file.get(), &here) == 0 && lstat(path().c_str(), &named) == 0 &&
                      here.st_dev == named.st_dev && here.st_ino == named.st_ino;
    if (same || !record.locked) return record;
  }
}

// Returns whether a new file has replaced the record.
Result<bool> KeptRecord::compact(const Opened& record) const {
  constexpr std::size_t worth = 100;  // lines
  // Claims are locks on this file.
  if (is_locked_from(record.file.get(), first_claim)) return false;
  const auto text = text_of(record.file.get(), path());
  if (!text) return std::unexpected(text.error());
  // In the order of the lines that count.
  std::list<std::string_view> kept;
  std::unordered_map<std::string, std::list<std::string_view>::iterator> latest;
  std::size_t lines = 0;
  for_lines(*text, [&](std::string_view line, const nlohmann::json& parsed) {
    ++lines;
    if (!parsed.is_object()) return;
    kept.push_back(line);
    // Keep lines written by later versions as they are.
    if (!is_ours(parsed) || !parsed.contains("output") || !parsed["output"].is_string()) return;
    const auto [place, added] = latest.emplace(parsed["output"].get<std::string>(), std::prev(kept.end()));
    if (added) return;
    kept.erase(place->second);
    place->second = std::prev(kept.end());
  });
  if (lines < 2 * kept.size() + worth) return false;
  auto file = PendingFile::create(path());
  if (!file) return cannot_keep(file.error());
  std::string compacted;
  for (const std::string_view line : kept)
    compacted.append(line) += '\n';
  struct stat status{};
  if (fstat(record.file.get(), &status) != 0 || fchmod(file->get(), status.st_mode & ALLPERMS) != 0)
    return cannot_keep(errno);
  if (const Transfer done = write_all(file->get(), std::as_bytes(std::span(compacted))); done.error != 0)
    return cannot_keep(done.error);
  if (fsync(file->get()) != 0) return cannot_keep(errno);
  if (const int error = file->publish(true); error != 0) return cannot_keep(error);
  return true;
}

// Compacts it the first time.
Result<KeptRecord::Opened> KeptRecord::open_compacted() {
  auto record = open();
  if (!record || !record->locked || std::exchange(looked_through_, true)) return record;
  const auto compacted = compact(*record);
  // If it cannot be compacted it is used as it is.
  return compacted && *compacted ? open() : std::move(record);
}

Result<Descriptor> KeptRecord::claim(const std::string& output_name) {
  const std::scoped_lock lock(mutex_);
  auto record = open_compacted();
  if (!record) return std::unexpected(record.error());
  const auto number = static_cast<off_t>(XXH3_64bits(output_name.data(), output_name.size()) %
                                         static_cast<std::uint64_t>(claims));
  const int refused = lock_byte(record->file.get(), first_claim + number, std::chrono::milliseconds(0));
  if (refused == EWOULDBLOCK)
    return usage_error("{}: another batch is making it; --resume leaves it out once it is there",
                       (folder_ / output_name).string());
  if (refused != 0) return cannot_keep(refused);
  if (Status read = catch_up(*record); !read) return std::unexpected(read.error());
  unlock_byte(record->file.get(), record_lock);
  return std::move(record->file);
}

// One write per line, so that lines of concurrent batches do not mix.
Status KeptRecord::append(std::string line) {
  std::string text = std::move(line) + "\n";
  const std::scoped_lock lock(mutex_);
  const auto record = open_compacted();
  if (!record) return std::unexpected(record.error());
  const int file = record->file.get();
  const off_t size = lseek(file, 0, SEEK_END);
  // An incomplete line is left if a batch was killed or the disk was full.
  char last = '\n';
  if (size > 0 && pread(file, &last, 1, size - 1) == 1 && last != '\n') text.insert(text.begin(), '\n');
  const Transfer done = write_all(file, std::as_bytes(std::span(text)));
  return done.error == 0 ? Status() : cannot_keep(done.error);
}

}  // namespace millrace::run
