#include "millrace/placement/apply/journal.h"

#include "millrace/base/error/clock.h"
#include "millrace/base/error/system_reason.h"
#include "millrace/base/text/take_word.h"
#include "millrace/machine/limits/open_cpus.h"
#include "millrace/machine/thread/thread_affinity.h"
#include "millrace/placement/apply/births_under_way.h"
#include "millrace/placement/apply/mask_changes.h"
#include "millrace/placement/task/children.h"
#include "millrace/placement/task/task_files.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <dirent.h>
#include <fcntl.h>
#include <iterator>
#include <memory>
#include <optional>
#include <sstream>
#include <tuple>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>

namespace millrace::placement {
namespace {

using machine::CpuSet;

constexpr std::string_view end_of_line = ";";  // a line without it was not completely written

constexpr std::string_view nothing = "-";  // so that every field is one word
constexpr std::string_view any_cpu_word = "any";

std::string word_of(const CpuSet& mask) { return mask.empty() ? std::string(nothing) : mask.to_string(); }

std::string words_of(const Original& original) {
  return fmt::format("{} {} {} {} {}{}{}", word_of(original.mask),
                     machine::name_of(original.scheduling_class), original.nice, original.priority,
                     original.slice_ns, original.any_cpu ? " " : "", original.any_cpu ? any_cpu_word : "");
}

std::string words_of(const Given& given) {
  return fmt::format("{} {} {}", word_of(given.mask),
                     given.scheduling_class ? machine::name_of(*given.scheduling_class) : nothing,
                     given.slice_ns ? std::to_string(*given.slice_ns) : std::string(nothing));
}

// Also reads the classes that a thread may have but millrace does not give.
std::optional<machine::SchedulingClass> read_class(std::string_view name) {
  for (const auto kept : {machine::SchedulingClass::deadline, machine::SchedulingClass::unknown})
    if (name == machine::name_of(kept)) return kept;
  return machine::parse_scheduling_class(name);
}

// Returns nothing if the words are missing, as in journals of earlier versions: such a thread keeps all it
// has.
Given read_given_words(std::istream& words) {
  std::string mask;
  std::string scheduling_class;
  std::string slice;
  if (!(words >> mask >> scheduling_class >> slice)) return {};
  Given given{.scheduling_class = machine::parse_scheduling_class(scheduling_class)};
  if (mask != nothing)
    if (auto cpus = CpuSet::parse(mask)) given.mask = std::move(*cpus);
  if (std::int64_t slice_ns = 0; std::istringstream(slice) >> slice_ns) given.slice_ns = slice_ns;
  return given;
}

std::optional<Original> read_original_words(std::istream& words) {
  Original original;
  std::string mask;
  std::string scheduling_class;
  words >> mask >> scheduling_class >> original.nice >> original.priority >> original.slice_ns;
  const auto cpus = CpuSet::parse(mask == nothing ? "" : mask);
  const auto found = read_class(scheduling_class);
  if (!words || !cpus || !found) return std::nullopt;
  original.mask = *cpus;
  original.scheduling_class = *found;
  // Journals of earlier versions end here.
  if (std::string word; words >> word) original.any_cpu = word == any_cpu_word;
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
    std::string name;
    std::int64_t slice_ns = 0;
    words >> name >> slice_ns;
    const auto scheduling_class = machine::parse_scheduling_class(name);
    if (words && scheduling_class) content.attributes.emplace(*scheduling_class, slice_ns);
    return;
  }
  if (kind == "namespace") {
    words >> content.pid_namespace;
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
  if (kind == "alone") process->second.left_alone[thread] = read_given_words(words);
  if (kind == "thread")
    if (const auto original = read_original_words(words)) process->second.threads[thread] = *original;
}

bool is_the_same(const ProcessId& id) {
  const auto stat = read_task_stat(id.number, id.number);
  return stat && stat->start_time == id.start_time;
}

// The parts of a thread's state that were given to it.
struct Aspects {
  bool mask = false;
  bool scheduling_class = false;
  bool slice = false;
  // The kernel derived the mask from a given one, which it may still remember.
  bool confined = false;
};

Aspects given_of(const Original& now, const JournalContent& set, const CpuSet& open) {
  const bool attributes = set.attributes.contains(attributes_of(now));
  Aspects given{set.masks.contains(now.mask.to_string()), attributes, attributes};
  if (given.mask) return given;
  given.confined = std::ranges::any_of(set.masks, [&](const std::string& mask) {
    return is_made_of(CpuSet::parse(mask).value_or(CpuSet()), now.mask, open);
  });
  given.mask = given.confined;
  return given;
}

Aspects given_of(const Original& now, const Given& given, const CpuSet& open) {
  Aspects its{!given.mask.empty() && now.mask == given.mask, now.scheduling_class == given.scheduling_class,
              now.slice_ns == given.slice_ns};
  its.confined = !its.mask && !given.mask.empty() && is_made_of(given.mask, now.mask, open);
  its.mask = its.mask || its.confined;
  return its;
}

Outcome give_back(pid_t thread, const Original& now, const Original& original, const Aspects& given,
                  const CpuSet& open) {
  bool restored = false;
  bool failed = false;
  const CpuSet mask = to_give_back(original.mask, original.any_cpu, open);
  // Set it even if it looks the same: a mask that the kernel remembers shows only later.
  if (given.mask && (given.confined || original.any_cpu || now.mask != mask)) {
    const auto granted = machine::bind_thread(thread, mask);
    failed = !granted;
    restored = granted && *granted != now.mask;
  }
  machine::SchedulingChange change;
  if (given.scheduling_class && now.scheduling_class != original.scheduling_class) {
    change.scheduling_class = original.scheduling_class;
    change.priority = original.priority;
  }
  const bool has_slice = machine::is_fair(change.scheduling_class.value_or(now.scheduling_class));
  if (given.slice && has_slice && now.slice_ns != original.slice_ns) change.slice_ns = original.slice_ns;
  if (change != machine::SchedulingChange())
    (machine::change_scheduling(thread, change) ? restored : failed) = true;
  if (failed) return Outcome::failed;
  return restored ? Outcome::restored : Outcome::unchanged;
}

// Adds the children of its processes that the journal does not know, because they were born after its run
// ended.
void add_children(JournalContent& content) {
  std::vector<ProcessId> processes;
  std::ranges::transform(content.processes, std::back_inserter(processes),
                         [](const auto& process) { return process.first; });
  while (!processes.empty()) {
    const ProcessId maker = processes.back();
    processes.pop_back();
    if (!is_the_same(maker)) continue;
    for (const pid_t number : list_children(maker.number)) {
      const auto stat = read_task_stat(number, number);
      if (!stat) continue;
      const ProcessId child{number, stat->start_time};
      if (content.processes.contains(child)) continue;
      content.processes[child].original = Original(content.processes[maker].original);
      processes.push_back(child);
    }
  }
}

// For a run that has ended, so that births are no longer reported.
Restored restore_with_births(JournalContent content) {
  Restored sum;
  BirthsUnderWay births;
  births.wait_until_none([&] {
    const std::size_t known = content.processes.size();
    add_children(content);
    const Restored restored = restore(content);
    sum.threads += restored.threads;
    sum.failed = restored.failed;
    std::vector<pid_t> processes;
    for (const auto& [id, process] : content.processes)
      if (is_the_same(id)) processes.push_back(id.number);
    return BirthsUnderWay::Look{std::move(processes),
                                restored.threads > 0 || content.processes.size() > known};
  });
  return sum;
}

constexpr std::string_view suffix = ".journal";
constexpr int digits = 16;

std::string random_name() {
  std::uint64_t number = 0;
  // getrandom() blocks only if the system has hardly started.
  if (getrandom(&number, sizeof(number), 0) != sizeof(number)) number = static_cast<std::uint64_t>(now_ns());
  return fmt::format("{:0{}x}{}", number, digits, suffix);
}

bool is_journal(std::string_view name) {
  return name.size() == digits + suffix.size() && name.ends_with(suffix) &&
         name.find_first_not_of("0123456789abcdef") == digits;
}

// Process numbers are valid only within one namespace.
std::uint64_t pid_namespace() {
  struct stat status{};
  return stat("/proc/self/ns/pid", &status) == 0 ? status.st_ino : 0;
}

// Call this with the lock held: another process may have done the work meanwhile.
bool is_still_there(int file) {
  struct stat status{};
  return fstat(file, &status) == 0 && status.st_nlink > 0;
}

bool is_own_file(int file) {
  struct stat status{};
  return fstat(file, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == geteuid() &&
         (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

std::string read_all(int file) {
  std::string text;
  std::array<char, 4096> part;
  ssize_t size = 0;
  while ((size = pread(file, part.data(), part.size(), static_cast<off_t>(text.size()))) > 0)
    text.append(part.data(), static_cast<std::size_t>(size));
  return text;
}

enum class Births {
  wait_for,   // everything is restored then, and the journal is removed
  pass_over,  // the journal stays
};

// lock: LOCK_EX, with LOCK_NB if its run may still be going on.
Restored restore_when_locked(int folder, const std::string& name, int lock, Births births) {
  const auto file =
      Descriptor::owned(openat(folder, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!file.is_open() || !is_own_file(file.get()) || flock(file.get(), lock) != 0 ||
      !is_still_there(file.get()))
    return {};
  const JournalContent content = parse_journal(read_all(file.get()));
  if (content.pid_namespace != pid_namespace() && !content.processes.empty()) return {};
  if (births == Births::pass_over) return restore(content);
  const Restored restored = restore_with_births(content);
  unlinkat(folder, name.c_str(), 0);
  return restored;
}

// `set`: what was given, as JournalContent or Given.
template <typename Set>
Outcome restore_as(pid_t thread, const Original& original, const Set& set, const CpuSet& open) {
  const auto now = read_original(thread);
  if (!now) return Outcome::unchanged;
  Aspects given = given_of(*now, set, open);
  if (!given.mask && !open.empty()) {
    // A CPU of a given mask may be going offline or coming online at this moment, and so be missing in it.
    Original whole = *now;
    whole.mask = machine::whole_mask(thread) & open;
    if (whole.mask != now->mask && !whole.mask.empty()) given = given_of(whole, set, open);
  }
  return give_back(thread, *now, original, given, open);
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
    std::string_view line = take_line(text);
    if (!line.ends_with(end_of_line)) continue;
    line.remove_suffix(end_of_line.size());
    parse_line(std::string(line), content);
  }
  return content;
}

Given given_to(const Original& original, const Original& last) {
  Given given;
  if (last.mask != original.mask) given.mask = last.mask;
  if (last.scheduling_class != original.scheduling_class) given.scheduling_class = last.scheduling_class;
  if (last.slice_ns != original.slice_ns) given.slice_ns = last.slice_ns;
  return given;
}

Outcome restore_thread(pid_t thread, const Original& original, const JournalContent& content,
                       const CpuSet& open) {
  return restore_as(thread, original, content, open);
}

Outcome restore_thread(pid_t thread, const Original& original, const Given& given, const CpuSet& open) {
  return restore_as(thread, original, given, open);
}

Outcome restore_thread(pid_t thread, const Original& original, const JournalContent& content) {
  return restore_thread(thread, original, content, machine::open_cpus(thread));
}

Outcome restore_thread(pid_t thread, const Original& original, const Given& given) {
  return restore_thread(thread, original, given, machine::open_cpus(thread));
}

Restored restore(const JournalContent& content) {
  return restore(content, [](pid_t process) { return machine::open_cpus(process); });
}

Restored restore(const JournalContent& content, const std::function<CpuSet(pid_t)>& open_to) {
  Restored sum;
  // Threads born during a pass inherit the unrestored state of their makers. Repeat until a pass finds
  // nothing.
  constexpr int most_passes = 10;
  for (int pass = 0; pass < most_passes; ++pass) {
    int restored = 0;
    sum.failed = 0;
    for (const auto& [id, process] : content.processes) {
      if (!is_the_same(id)) continue;
      // The open CPUs matter only if masks were given.
      const CpuSet open = content.masks.empty() ? CpuSet() : open_to(id.number);
      for (const pid_t thread : list_threads(id.number)) {
        const auto own = process.threads.find(thread);
        const Original& original = own == process.threads.end() ? process.original : own->second;
        const auto alone = process.left_alone.find(thread);
        const Outcome outcome = alone == process.left_alone.end()
                                    ? restore_thread(thread, original, content, open)
                                    : restore_thread(thread, original, alone->second, open);
        if (outcome == Outcome::restored) ++restored;
        if (outcome == Outcome::failed) ++sum.failed;
      }
    }
    sum.threads += restored;
    if (restored == 0) break;
  }
  return sum;
}

namespace {

constexpr mode_t own_only = S_IRUSR | S_IWUSR;
constexpr int to_append = O_WRONLY | O_APPEND | O_NOFOLLOW | O_CLOEXEC;

Error cannot_write(const std::filesystem::path& where, int reason) {
  return failure("cannot write in {}: {}", where.string(), system_reason(reason)).error();
}

}  // namespace

Result<Journal> Journal::begin(StateFolder folder) {
  constexpr int attempts = 100;
  for (int attempt = 0; attempt < attempts; ++attempt) {
    std::string name = random_name();
    auto file =
        Descriptor::owned(openat(folder.descriptor(), name.c_str(), to_append | O_CREAT | O_EXCL, own_only));
    const int reason = errno;
    if (!file.is_open() && reason == ENOENT) {
      // Another run has ended and removed the folder because it was empty.
      auto again = StateFolder::open(folder.path());
      if (!again) return std::unexpected(again.error());
      return begin(std::move(*again));
    }
    if (!file.is_open() && reason != EEXIST) return std::unexpected(cannot_write(folder.path(), reason));
    // Another process that starts may see the file before it is locked, and remove it.
    if (!file.is_open() || flock(file.get(), LOCK_EX | LOCK_NB) != 0 || !is_still_there(file.get())) continue;
    Journal journal(std::move(folder), std::move(name), std::move(file));
    if (auto written = journal.write_namespace(); !written) return std::unexpected(written.error());
    return journal;
  }
  return failure("cannot begin a journal in {}", folder.path().string());
}

Result<Journal> Journal::begin_unnamed(StateFolder folder) {
  // In the folder's parent, because the folder is removed while it is empty.
  auto file = Descriptor::owned(
      open(folder.path().parent_path().c_str(), O_TMPFILE | O_WRONLY | O_APPEND | O_CLOEXEC, own_only));
  if (!file.is_open() || flock(file.get(), LOCK_EX | LOCK_NB) != 0) return begin(std::move(folder));
  Journal journal(folder.path(), random_name(), std::move(file));
  if (auto written = journal.write_namespace(); !written) return std::unexpected(written.error());
  return journal;
}

Status Journal::open_folder() {
  if (refuses() || named_) return {};
  folder_.reset();  // first, because it removes an empty folder of this name
  auto folder = StateFolder::open(path_);
  if (!folder) return std::unexpected(folder.error());
  folder_.emplace(std::move(*folder));
  return {};
}

Result<bool> Journal::give_name() {
  if (refuses() || named_) return true;
  // linkat() with a bare descriptor needs a privilege.
  const std::string unnamed = fmt::format("/proc/self/fd/{}", file_.get());
  if (linkat(AT_FDCWD, unnamed.c_str(), folder_->descriptor(), name_.c_str(), AT_SYMLINK_FOLLOW) == 0) {
    named_ = true;
    return true;
  }
  if (errno == ENOENT && !is_still_there(folder_->descriptor())) return false;
  // The folder can be on another file system than its parent. Lines that are written again say the same.
  auto file =
      Descriptor::owned(openat(folder_->descriptor(), name_.c_str(), to_append | O_CREAT | O_EXCL, own_only));
  if (!file.is_open()) return std::unexpected(cannot_write(path_, errno));
  if (flock(file.get(), LOCK_EX | LOCK_NB) != 0 || !is_still_there(file.get()))
    return failure("{} was removed by others before it was in use", place());
  file_ = std::move(file);
  named_ = true;
  const JournalContent content = std::exchange(content_, {});
  if (auto written = write_namespace(); !written) return std::unexpected(written.error());
  if (auto written = write_all(content); !written) return std::unexpected(written.error());
  return true;
}

Journal Journal::refusing(Error reason) { return Journal(std::move(reason)); }

Journal::~Journal() {
  if (file_.is_open() && named_) unlinkat(folder_->descriptor(), name_.c_str(), 0);
}

bool Journal::is_lost() const { return file_.is_open() && named_ && !is_still_there(file_.get()); }

std::string Journal::place() const { return ((folder_ ? folder_->path() : path_) / name_).string(); }

Status Journal::counts_still() const {
  if (!is_lost()) return {};
  return failure("{} was removed by others while it was in use", place());
}

Status Journal::write_line(const std::string& line) {
  if (!file_.is_open()) return std::unexpected(reason_);
  if (Status counts = counts_still(); !counts) return counts;
  // Ends a partly written line, so that it does not spoil the next one.
  const std::string whole = (torn_ ? "\n" : "") + line + std::string(end_of_line) + "\n";
  const ssize_t written = write(file_.get(), whole.data(), whole.size());
  const int reason = written < 0 ? errno : ENOSPC;
  if (written == static_cast<ssize_t>(whole.size())) {
    torn_ = false;
    return {};
  }
  torn_ = torn_ || written > 0;
  return std::unexpected(cannot_write(folder_ ? folder_->path() : path_, reason));
}

Status Journal::write_namespace() {
  auto written = write_line(fmt::format("namespace {}", pid_namespace()));
  if (written) content_.pid_namespace = pid_namespace();
  return written;
}

Status Journal::write_all(const JournalContent& content) {
  Status written;
  const auto note = [&](Status line) {
    if (written && !line) written = std::move(line);
  };
  for (const std::string& mask : content.masks)
    note(add_mask(CpuSet::parse(mask).value_or(CpuSet())));
  for (const Attributes& attributes : content.attributes)
    note(add_attributes(attributes));
  for (const auto& [id, process] : content.processes) {
    if (!is_the_same(id)) continue;
    note(add_process(id, process.original));
    const std::vector<pid_t> living = list_threads(id.number);
    const auto lives = [&](pid_t thread) { return std::ranges::find(living, thread) != living.end(); };
    for (const auto& [thread, original] : process.threads)
      if (lives(thread)) note(add_thread(id, thread, original));
    for (const auto& [thread, given] : process.left_alone)
      if (lives(thread)) note(leave_alone(id, thread, given));
  }
  return written;
}

Status Journal::forget_ended() {
  if (refuses()) return std::unexpected(reason_);
  if (!named_) return {};  // it is short
  auto folder = StateFolder::open(folder_->path());
  if (!folder) return std::unexpected(folder.error());
  auto next = begin(std::move(*folder));
  if (!next) return std::unexpected(next.error());
  // The old file is valid until the new one is complete; both say the same.
  if (auto written = next->write_all(content_); !written) return written;
  // If the folder was removed meanwhile, this is a new one.
  folder_->swap(*next->folder_);
  std::swap(name_, next->name_);
  std::swap(file_, next->file_);
  std::swap(content_, next->content_);
  torn_ = false;
  return {};  // `next` now owns the old file and removes it
}

// The content holds only what has been written.
Status Journal::add_process(const ProcessId& process, const Original& original) {
  auto written =
      write_line(fmt::format("process {} {} {}", process.number, process.start_time, words_of(original)));
  if (written) content_.processes[process].original = original;
  return written;
}

Status Journal::add_thread(const ProcessId& process, pid_t thread, const Original& original) {
  auto written = write_line(
      fmt::format("thread {} {} {} {}", process.number, process.start_time, thread, words_of(original)));
  if (written) content_.processes[process].threads[thread] = original;
  return written;
}

Status Journal::leave_alone(const ProcessId& process, pid_t thread, const Given& given) {
  std::map<pid_t, Given>& left_alone = content_.processes[process].left_alone;
  const auto known = left_alone.find(thread);
  if (known != left_alone.end() && known->second == given) return {};
  left_alone[thread] = given;
  return write_line(
      fmt::format("alone {} {} {} {}", process.number, process.start_time, thread, words_of(given)));
}

Status Journal::add_mask(const CpuSet& mask) {
  std::string text = mask.to_string();
  if (content_.masks.contains(text)) return counts_still();
  auto written = write_line(fmt::format("mask {}", text));
  if (written) content_.masks.insert(std::move(text));
  return written;
}

Status Journal::add_attributes(const Attributes& attributes) {
  if (content_.attributes.contains(attributes)) return counts_still();
  auto written =
      write_line(fmt::format("attributes {} {}", machine::name_of(attributes.first), attributes.second));
  if (written) content_.attributes.insert(attributes);
  return written;
}

Restored restore_by_file(int folder, const std::string& name) {
  return restore_when_locked(folder, name, LOCK_EX, Births::wait_for);
}

namespace {

std::vector<std::string> journals_in(int folder) {
  std::vector<std::string> names;
  const int list = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(list < 0 ? nullptr : fdopendir(list), closedir);
  if (!entries && list >= 0) close(list);
  while (const dirent* entry = entries ? readdir(entries.get()) : nullptr)
    if (is_journal(entry->d_name)) names.emplace_back(entry->d_name);
  return names;
}

}  // namespace

// First restores all that is known, then waits for births, because the wait takes a while for each journal.
Restored restore_left_behind(int folder) {
  Restored sum;
  const std::vector<std::string> names = journals_in(folder);
  for (const std::string& name : names)
    sum.threads += restore_when_locked(folder, name, LOCK_EX | LOCK_NB, Births::pass_over).threads;
  for (const std::string& name : names) {
    const Restored restored = restore_when_locked(folder, name, LOCK_EX | LOCK_NB, Births::wait_for);
    sum.threads += restored.threads;
    sum.failed += restored.failed;
  }
  return sum;
}

Restored restore_left_behind(const StateFolder& folder) { return restore_left_behind(folder.descriptor()); }

Restored restore_left_behind() {
  const auto folder = StateFolder::of_this_user();
  return folder ? restore_left_behind(*folder) : Restored();
}

Descriptor lock_against_others(const Journal& own) {
  auto folder = Descriptor::owned(openat(own.folder().descriptor(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  constexpr int attempts = 1000;
  constexpr useconds_t pause_us = 1000;
  for (int attempt = 0; folder.is_open() && attempt < attempts; ++attempt) {
    if (flock(folder.get(), LOCK_EX | LOCK_NB) == 0) return folder;
    usleep(pause_us);
  }
  return {};
}

bool followed_by_another(const Journal& own, const ProcessId& process) {
  if (own.refuses()) return false;
  for (const std::string& name : journals_in(own.folder().descriptor())) {
    if (name == own.name()) continue;
    const auto file = Descriptor::owned(
        openat(own.folder().descriptor(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    // A shared lock, so that a process that looks for leftovers is not mistaken for a run.
    if (!file.is_open() || !is_own_file(file.get()) || flock(file.get(), LOCK_SH | LOCK_NB) == 0) continue;
    const JournalContent content = parse_journal(read_all(file.get()));
    if (content.pid_namespace == pid_namespace() && content.processes.contains(process)) return true;
  }
  return false;
}

}  // namespace millrace::placement
