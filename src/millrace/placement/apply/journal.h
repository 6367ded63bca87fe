// Journal: what a run has changed, on disk before it is changed, so that anybody can undo it.
#pragma once

#include "millrace/base/descriptor.h"
#include "millrace/base/result.h"
#include "millrace/machine/cpus/cpu_set.h"
#include "millrace/machine/thread/scheduling_attributes.h"
#include "millrace/placement/apply/state_folder.h"

#include <cstdint>
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
  int nice = 0;  // recorded, never changed by millrace, hence not restored over the program's own change
  int priority = 0;
  std::int64_t slice_ns = 0;  // 0: the kernel's own
  // The mask was all that was open to it (machine/limits/open_cpus.h): it has none of its own, and is to have
  // what is open to it later.
  bool any_cpu = false;
  [[nodiscard]] friend bool operator==(const Original&, const Original&) = default;
};

// Class and slice of a thread; 0: the kernel's own.
using Attributes = std::pair<machine::SchedulingClass, std::int64_t>;
[[nodiscard]] inline Attributes attributes_of(const Original& state) {
  return {state.scheduling_class, state.slice_ns};
}

// Reads it from the kernel, but for any_cpu. Failure when the thread is gone.
[[nodiscard]] Result<Original> read_original(pid_t thread);

// What a thread was given of what it did not have anyhow.
struct Given {
  machine::CpuSet mask;  // empty: none
  std::optional<machine::SchedulingClass> scheduling_class;
  std::optional<std::int64_t> slice_ns;
  [[nodiscard]] friend bool operator==(const Given&, const Given&) = default;
};
// To one that had `original` and has `last`.
[[nodiscard]] Given given_to(const Original& original, const Original& last);

// A process by number and start time, so that its number may be used again by another.
struct ProcessId {
  pid_t number = 0;
  std::uint64_t start_time = 0;
  [[nodiscard]] friend auto operator<=>(const ProcessId&, const ProcessId&) = default;
};

struct JournalContent {
  struct Process {
    Original original;                  // of all its threads, also those born later, ...
    std::map<pid_t, Original> threads;  // ... but for these
    // Threads that look after themselves. What they were given and still have, they have not chosen.
    std::map<pid_t, Given> left_alone;
    [[nodiscard]] friend bool operator==(const Process&, const Process&) = default;
  };
  std::uint64_t pid_namespace = 0;  // in which the numbers of processes are meant
  std::map<ProcessId, Process> processes;
  std::set<std::string> masks;      // every mask that was set, as CpuSet writes it
  std::set<Attributes> attributes;  // every class and slice that was set
  [[nodiscard]] friend bool operator==(const JournalContent&, const JournalContent&) = default;
};

// Lines that are damaged (a machine that lost power) are passed over.
[[nodiscard]] JournalContent parse_journal(std::string_view text);

struct Restored {
  int threads = 0;  // changed back
  int failed = 0;   // still there, and not changed back
};
// Gives every living thread back what it had. A mask that is none that was set, nor what the kernel makes of
// one in the thread's cpuset, stays: the thread, or somebody else, chose it; so do a class and slice. Of a
// thread that looks after itself, everything stays but what it was given. Idempotent.
Restored restore(const JournalContent& content);
// The same where others say what is open to a process.
Restored restore(const JournalContent& content, const std::function<machine::CpuSet(pid_t process)>& open_to);

// The same of one thread that had `original`; of the content only what was set counts.
enum class Outcome { unchanged, restored, failed };
Outcome restore_thread(pid_t thread, const Original& original, const JournalContent& content);
// And of one that looks after itself.
Outcome restore_thread(pid_t thread, const Original& original, const Given& given);
// The same with what is open to the thread's process, as a test may have it; empty: it is not known.
Outcome restore_thread(pid_t thread, const Original& original, const JournalContent& content,
                       const machine::CpuSet& open);
Outcome restore_thread(pid_t thread, const Original& original, const Given& given,
                       const machine::CpuSet& open);

// The journal of one run, appended to line by line. Each line is in the kernel's hands when the call returns,
// which outlives the end of this process, though not of the machine, with which the threads end too.
//
// A lock tells that its run goes on, in whichever PID namespace it does.
//
// Lines are refused once others have removed it: what nobody could undo is not to be done.
//
// Used by one thread at a time.
class Journal {
 public:
  // Begins an empty journal, of a name that nobody can guess.
  [[nodiscard]] static Result<Journal> begin(StateFolder folder);
  // One that cannot be written: every line is refused for this reason.
  [[nodiscard]] static Journal refusing(Error reason);
  Journal(Journal&&) noexcept = default;
  Journal& operator=(Journal&&) = delete;
  // Removes the file, and the folder where that leaves it empty.
  ~Journal();

  Status add_process(const ProcessId& process, const Original& original);
  Status add_thread(const ProcessId& process, pid_t thread, const Original& original);
  Status leave_alone(const ProcessId& process, pid_t thread, const Given& given);
  Status add_mask(const machine::CpuSet& mask);
  Status add_attributes(const Attributes& attributes);

  // Goes on in a new file that leaves out processes and threads that have ended: for runs of days.
  Status forget_ended();

  // Nobody would find it any more to undo what it tells: others have removed it, or its folder, while the run
  // goes on. Never of one that refuses.
  [[nodiscard]] bool is_lost() const;

  [[nodiscard]] const JournalContent& content() const { return content_; }
  [[nodiscard]] bool refuses() const { return !folder_; }
  // Not of one that refuses.
  [[nodiscard]] const StateFolder& folder() const { return *folder_; }
  [[nodiscard]] const std::string& name() const { return name_; }

 private:
  Journal(StateFolder folder, std::string name, Descriptor file)
      : folder_(std::move(folder)), name_(std::move(name)), file_(std::move(file)) {}
  explicit Journal(Error reason) : reason_(std::move(reason)) {}
  // Nothing can be counted upon that is told to a journal that is lost.
  [[nodiscard]] Status counts_still() const;
  Status write_line(const std::string& line);
  Status write_all(const JournalContent& content);

  std::optional<StateFolder> folder_;
  std::string name_;
  Descriptor file_;
  bool torn_ = false;
  Error reason_;
  JournalContent content_;
};

// Restores what runs have left that ended without doing so, and removes their journals; nothing is done for
// runs that go on, nor for those of another PID namespace, whose numbers mean other processes. Files that are
// not this user's are not believed. Sums up.
Restored restore_left_behind(const StateFolder& folder);
Restored restore_left_behind(int folder);  // by descriptor

// Until the descriptor is closed, nobody else of this user has one: between asking who follows a process and
// telling its own journal of it, no other may do the same. Not of one that refuses. Closed where another run
// has it for more than a second.
[[nodiscard]] Descriptor lock_against_others(const Journal& own);

// Whether another run of this user that goes on has told its journal, in the folder of this one, of the
// process.
[[nodiscard]] bool followed_by_another(const Journal& own, const ProcessId& process);

// Restores by one journal and removes it, once its run has ended; also what is born of its processes until
// nothing can be on its way any more that has inherited what was given. Does nothing where there is none.
// folder: by descriptor.
Restored restore_by_file(int folder, const std::string& name);

}  // namespace millrace::placement
