// Journal: records on disk what a run is about to change, so that any later process can undo it.
#pragma once

#include "millrace/base/descriptor/descriptor.h"
#include "millrace/base/error/result.h"
#include "millrace/machine/cpus/cpu_set.h"
#include "millrace/machine/thread/scheduling_attributes.h"
#include "millrace/placement/apply/state_folder.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sys/types.h>

namespace millrace::placement {

// How a thread was scheduled before anything was changed.
struct Original {
  machine::CpuSet mask;
  machine::SchedulingClass scheduling_class = machine::SchedulingClass::other;
  int nice = 0;  // recorded only: millrace neither changes nor restores it
  int priority = 0;
  std::int64_t slice_ns = 0;  // 0: the kernel's default
  // The mask contained every CPU that was open to the thread (machine/limits/open_cpus.h). The thread has no
  // mask of its own, so on restore it gets the CPUs that are open then.
  bool any_cpu = false;
  [[nodiscard]] friend bool operator==(const Original&, const Original&) = default;
};

// Class and slice of a thread; 0: the kernel's default.
using Attributes = std::pair<machine::SchedulingClass, std::int64_t>;
[[nodiscard]] inline Attributes attributes_of(const Original& state) {
  return {state.scheduling_class, state.slice_ns};
}

// Reads everything but any_cpu from the kernel. Fails if the thread is gone.
[[nodiscard]] Result<Original> read_original(pid_t thread);

// The part of a thread's state that millrace gave it and that differs from what it had.
struct Given {
  machine::CpuSet mask;  // empty: none
  std::optional<machine::SchedulingClass> scheduling_class;
  std::optional<std::int64_t> slice_ns;
  [[nodiscard]] friend bool operator==(const Given&, const Given&) = default;
};
// Returns what was given to a thread that had `original` and now has `last`.
[[nodiscard]] Given given_to(const Original& original, const Original& last);

// A process, by number and start time, because numbers are reused.
struct ProcessId {
  pid_t number = 0;
  std::uint64_t start_time = 0;
  [[nodiscard]] friend auto operator<=>(const ProcessId&, const ProcessId&) = default;
};

struct JournalContent {
  struct Process {
    Original original;                  // applies to all its threads, also those born later, ...
    std::map<pid_t, Original> threads;  // ... except these
    // Threads that manage their own mask or class, with what they were given: they have not chosen that part.
    std::map<pid_t, Given> left_alone;
    [[nodiscard]] friend bool operator==(const Process&, const Process&) = default;
  };
  std::uint64_t pid_namespace = 0;  // the namespace of the process numbers
  std::map<ProcessId, Process> processes;
  std::set<std::string> masks;      // every mask that was set, as CpuSet writes it
  std::set<Attributes> attributes;  // every class and slice that was set
  [[nodiscard]] friend bool operator==(const JournalContent&, const JournalContent&) = default;
};

// Skips damaged lines, such as after a power failure.
[[nodiscard]] JournalContent parse_journal(std::string_view text);

struct Restored {
  int threads = 0;  // changed back
  int failed = 0;   // still alive and not changed back
};
// Restores every living thread. A mask stays if it was never set by millrace and cannot be what the kernel
// made of such a mask in the thread's cpuset: the thread or another program chose it. The same applies to
// class and slice. Threads that manage themselves lose only what they were given. Idempotent.
Restored restore(const JournalContent& content);
// Takes the CPUs that are open to a process from `open_to`.
Restored restore(const JournalContent& content, const std::function<machine::CpuSet(pid_t process)>& open_to);

// Restores one thread that had `original`. Only what the content says was set is used.
enum class Outcome { unchanged, restored, failed };
Outcome restore_thread(pid_t thread, const Original& original, const JournalContent& content);
// Restores one thread that manages itself.
Outcome restore_thread(pid_t thread, const Original& original, const Given& given);
// For tests: takes the CPUs that are open to the thread's process; empty: not known.
Outcome restore_thread(pid_t thread, const Original& original, const JournalContent& content,
                       const machine::CpuSet& open);
Outcome restore_thread(pid_t thread, const Original& original, const Given& given,
                       const machine::CpuSet& open);

// The journal of one run, to which lines are appended. When a call returns, its line is in the kernel and
// survives the end of this process. It may not survive a crash of the machine, but then the threads are gone
// too.
//
// A lock shows that the run is still going on, in whatever PID namespace. Once other processes have removed
// the file, further lines are refused: millrace makes no change that could not be undone.
//
// Not thread-safe.
class Journal {
 public:
  // Begins an empty journal with an unpredictable name.
  [[nodiscard]] static Result<Journal> begin(StateFolder folder);
  // Begins an empty journal whose file has no name until give_name(), so that nothing stays behind if this
  // process is killed before. Other processes cannot read it until then: nothing may be changed yet. If the
  // file system has no unnamed files, the journal has a name from the start.
  [[nodiscard]] static Result<Journal> begin_unnamed(StateFolder folder);
  // Returns a journal that refuses every line for this reason.
  [[nodiscard]] static Journal refusing(Error reason);
  Journal(Journal&&) noexcept = default;
  Journal& operator=(Journal&&) = delete;
  // Removes the file, and the folder if that is then empty.
  ~Journal();

  Status add_process(const ProcessId& process, const Original& original);
  Status add_thread(const ProcessId& process, pid_t thread, const Original& original);
  Status leave_alone(const ProcessId& process, pid_t thread, const Given& given);
  Status add_mask(const machine::CpuSet& mask);
  Status add_attributes(const Attributes& attributes);

  // First half of give_name(): makes the folder. The name is known from then on.
  Status open_folder();
  // Does nothing if the journal has a name or refuses. Others can remove the folder until then, because it
  // may be empty: false, and open_folder() makes it again.
  [[nodiscard]] Result<bool> give_name();

  // Continues in a new file without the processes and threads that have ended. Keeps journals of long runs
  // short.
  Status forget_ended();

  // True if the file or its folder was removed during the run, so that nothing could be undone from it.
  // Always false for a refusing journal.
  [[nodiscard]] bool is_lost() const;

  [[nodiscard]] const JournalContent& content() const { return content_; }
  [[nodiscard]] bool refuses() const { return !file_.is_open(); }
  // Must not be called on a refusing journal, nor on an unnamed one before open_folder().
  [[nodiscard]] const StateFolder& folder() const { return *folder_; }
  [[nodiscard]] const std::string& name() const { return name_; }

 private:
  Journal(StateFolder folder, std::string name, Descriptor file)
      : folder_(std::move(folder)), name_(std::move(name)), file_(std::move(file)) {}
  Journal(std::filesystem::path path, std::string name, Descriptor unnamed)
      : path_(std::move(path)), name_(std::move(name)), file_(std::move(unnamed)), named_(false) {}
  explicit Journal(Error reason) : reason_(std::move(reason)) {}
  // Fails if the journal is lost: its lines would be useless.
  [[nodiscard]] Status counts_still() const;
  // For messages.
  [[nodiscard]] std::string place() const;
  Status write_line(const std::string& line);
  Status write_namespace();
  Status write_all(const JournalContent& content);

  std::optional<StateFolder> folder_;
  std::filesystem::path path_;  // of the folder, if the file was begun without a name
  std::string name_;
  Descriptor file_;
  bool named_ = true;
  bool torn_ = false;
  Error reason_;
  JournalContent content_;
};

// Restores the threads of runs that ended without doing so, removes their journals and returns the totals. It
// skips runs that still go on and runs of another PID namespace, whose numbers mean other processes. Files of
// other users are not trusted.
Restored restore_left_behind(const StateFolder& folder);
Restored restore_left_behind(int folder);  // the folder's descriptor
// Does so for this user's folder. Does nothing if that cannot be used.
Restored restore_left_behind();

// Takes a lock that one process of this user can hold at a time, until the descriptor is closed. Hold it from
// the check whether a process is followed already until the own journal names the process. Returns a closed
// descriptor if another run holds the lock for more than a second. Must not be called on a refusing journal.
[[nodiscard]] Descriptor lock_against_others(const Journal& own);

// True if another live run of this user has recorded the process in a journal in the same folder.
[[nodiscard]] bool followed_by_another(const Journal& own, const ProcessId& process);

// Waits for the journal's run to end, restores its threads and removes the journal. It also restores children
// of its processes, until no birth that could inherit given state can be under way. Does nothing if the file
// does not exist. folder: a descriptor.
Restored restore_by_file(int folder, const std::string& name);

}  // namespace millrace::placement
