#include "millrace/placement/apply/journal.h"

#include "millrace/base/system_reason.h"
#include "millrace/machine/thread_affinity.h"
#include "millrace/placement/task/task_files.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <optional>
#include <sstream>
#include <tuple>
#include <unistd.h>

#include <fmt/format.h>
#include <sys/stat.h>

namespace millrace::placement {
namespace {

using machine::CpuSet;

constexpr std::string_view suffix = ".journal";
constexpr std::string_view end_of_line = ";";  // a line without it was not written as a whole

// "-" for the empty set, so that every field is one word.
std::string word_of(const CpuSet& mask) { return mask.empty() ? "-" : mask.to_string(); }

std::string words_of(const Original& original) {
  return fmt::format("{} {} {} {} {}", word_of(original.mask), machine::name_of(original.scheduling_class),
                     original.nice, original.priority, original.slice_ns);
}

std::optional<Original> read_original_words(std::istream& words) {
  Original original;
  std::string mask;
  std::string scheduling_class;
  words >> mask >> scheduling_class >> original.nice >> original.priority >> original.slice_ns;
  const auto cpus = CpuSet::parse(mask == "-" ? "" : mask);
  const auto found = machine::parse_scheduling_class(scheduling_class);
  if (!words || !cpus || !found) return std::nullopt;
  original.mask = *cpus;
  original.scheduling_class = *found;
  return original;
}

void parse_line(const std::string& line, JournalContent& content) {
  std::istringstream words(line);
  std::string kind;
  words >> kind;
  if (kind == "mask") {
    std::string mask;
    if (words >> mask) content.masks.insert(mask);
    return;
  }
  if (kind == "attributes") {
    content.attributes = true;
    return;
  }
  ProcessId id;
  words >> id.number >> id.start_time;
  if (kind == "process") {
    if (const auto original = read_original_words(words)) content.processes[id].original = *original;
    return;
  }
  pid_t thread = 0;
  words >> thread;
  const auto process = content.processes.find(id);
  if (!words || process == content.processes.end()) return;
  if (kind == "alone") process->second.left_alone.insert(thread);
  if (kind == "thread")
    if (const auto original = read_original_words(words)) process->second.threads[thread] = *original;
}

bool is_the_same(const ProcessId& id) {
  const auto stat = read_task_stat(id.number, id.number);
  return stat && stat->start_time == id.start_time;
}

// A run that was killed is a zombie until its parent asks for it.
bool goes_on(const ProcessId& run) {
  const auto stat = read_task_stat(run.number, run.number);
  return stat && stat->start_time == run.start_time && stat->state != 'Z';
}

enum class Outcome { unchanged, restored, failed };

Outcome restore_mask(pid_t thread, const CpuSet& original, const std::set<std::string>& set) {
  const auto now = machine::thread_affinity(thread);
  if (!now || *now == original || !set.contains(now->to_string())) return Outcome::unchanged;
  return machine::bind_thread(thread, original) ? Outcome::restored : Outcome::failed;
}

Outcome restore_attributes(pid_t thread, const Original& original) {
  const auto now = read_original(thread);
  if (!now) return Outcome::unchanged;
  machine::SchedulingChange change;
  if (now->scheduling_class != original.scheduling_class) {
    change.scheduling_class = original.scheduling_class;
    change.priority = original.priority;
  }
  const bool fair = original.scheduling_class == machine::SchedulingClass::other ||
                    original.scheduling_class == machine::SchedulingClass::batch;
  if (fair && now->slice_ns != original.slice_ns) change.slice_ns = original.slice_ns;
  if (change == machine::SchedulingChange()) return Outcome::unchanged;
  return machine::change_scheduling(thread, change) ? Outcome::restored : Outcome::failed;
}

// The run that the name of a journal or board tells of; nothing for names of other files.
std::optional<ProcessId> owner_of(const std::filesystem::path& path) {
  ProcessId id;
  char dash = 0;
  std::istringstream name(path.stem().string());
  name >> id.number >> dash >> id.start_time;
  const bool ours = path.extension() == suffix || path.extension() == board_suffix;
  if (!ours || !name || dash != '-') return std::nullopt;
  return id;
}

}  // namespace

Result<Original> read_original(pid_t thread) {
  auto mask = machine::thread_affinity(thread);
  if (!mask) return std::unexpected(mask.error());
  const auto attributes = machine::scheduling_attributes(thread);
  if (!attributes) return std::unexpected(attributes.error());
  const bool custom = attributes->slice_ns != machine::default_slice_ns();
  return Original{std::move(*mask), attributes->scheduling_class, attributes->nice, attributes->priority,
                  custom ? attributes->slice_ns : 0};
}

JournalContent parse_journal(std::string_view text) {
  JournalContent content;
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (!line.ends_with(end_of_line)) continue;
    line.remove_suffix(end_of_line.size());
    parse_line(std::string(line), content);
  }
  return content;
}

Restored restore(const JournalContent& content) {
  Restored sum;
  for (const auto& [id, process] : content.processes) {
    if (!is_the_same(id)) continue;
    for (const pid_t thread : list_threads(id.number)) {
      if (process.left_alone.contains(thread)) continue;
      const auto own = process.threads.find(thread);
      const Original& original = own == process.threads.end() ? process.original : own->second;
      const Outcome mask = restore_mask(thread, original.mask, content.masks);
      const Outcome attributes =
          content.attributes ? restore_attributes(thread, original) : Outcome::unchanged;
      if (mask == Outcome::restored || attributes == Outcome::restored) ++sum.threads;
      if (mask == Outcome::failed || attributes == Outcome::failed) ++sum.failed;
    }
  }
  return sum;
}

Result<std::filesystem::path> Journal::default_folder() {
  const char* runtime = std::getenv("XDG_RUNTIME_DIR");  // NOLINT(concurrency-mt-unsafe): nothing sets it
  const std::filesystem::path folder =
      runtime != nullptr && runtime[0] == '/' && access(runtime, W_OK) == 0
          ? std::filesystem::path(runtime) / "millrace"
          : std::filesystem::path(fmt::format("/tmp/millrace-{}", geteuid()));
  if (mkdir(folder.c_str(), S_IRWXU) != 0 && errno != EEXIST)
    return failure("cannot make {}: {}", folder.string(), system_reason(errno));
  struct stat status{};
  if (lstat(folder.c_str(), &status) != 0 || !S_ISDIR(status.st_mode) || status.st_uid != geteuid())
    return failure("{} is not a folder of this user; remove it, or set XDG_RUNTIME_DIR", folder.string());
  return folder;
}

Result<Journal> Journal::begin(const std::filesystem::path& folder) {
  const auto own = read_task_stat(getpid(), getpid());
  if (!own) return failure("cannot read /proc/self/task; is /proc mounted?");
  std::filesystem::path path = folder / fmt::format("{}-{}{}", getpid(), own->start_time, suffix);
  auto file = Descriptor::owned(
      open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, S_IRUSR | S_IWUSR));
  if (!file.is_open()) return failure("cannot write {}: {}", path.string(), system_reason(errno));
  return Journal(std::move(path), std::move(file));
}

Journal::~Journal() {
  if (file_.is_open()) unlink(path_.c_str());
}

Status Journal::write_line(const std::string& line) {
  const std::string whole = line + std::string(end_of_line) + "\n";
  if (write(file_.get(), whole.data(), whole.size()) == static_cast<ssize_t>(whole.size())) return {};
  return failure("cannot write {}: {}", path_.string(), system_reason(errno));
}

Status Journal::add_process(const ProcessId& process, const Original& original) {
  content_.processes[process].original = original;
  return write_line(fmt::format("process {} {} {}", process.number, process.start_time, words_of(original)));
}

Status Journal::add_thread(const ProcessId& process, pid_t thread, const Original& original) {
  content_.processes[process].threads[thread] = original;
  return write_line(
      fmt::format("thread {} {} {} {}", process.number, process.start_time, thread, words_of(original)));
}

Status Journal::leave_alone(const ProcessId& process, pid_t thread) {
  if (!content_.processes[process].left_alone.insert(thread).second) return {};
  return write_line(fmt::format("alone {} {} {}", process.number, process.start_time, thread));
}

Status Journal::add_mask(const CpuSet& mask) {
  if (!content_.masks.insert(mask.to_string()).second) return {};
  return write_line(fmt::format("mask {}", mask.to_string()));
}

Status Journal::add_attributes() {
  if (std::exchange(content_.attributes, true)) return {};
  return write_line("attributes");
}

Restored restore_by_file(const std::filesystem::path& path) {
  const auto text = read_small_file(path.string());
  if (!text) return {};
  const Restored restored = restore(parse_journal(*text));
  unlink(path.c_str());
  return restored;
}

Restored restore_left_behind(const std::filesystem::path& folder) {
  Restored sum;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    const auto owner = owner_of(entry.path());
    if (!owner || goes_on(*owner)) continue;
    if (entry.path().extension() == board_suffix) {
      unlink(entry.path().c_str());
      continue;
    }
    const Restored restored = restore_by_file(entry.path());
    sum.threads += restored.threads;
    sum.failed += restored.failed;
  }
  return sum;
}

}  // namespace millrace::placement
