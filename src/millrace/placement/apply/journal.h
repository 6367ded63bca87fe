// Journal: what a run has changed, on disk before it is changed, so that anybody can undo it.
#pragma once

#include "millrace/base/descriptor.h"
#include "millrace/base/result.h"
#include "millrace/machine/cpu_set.h"
#include "millrace/machine/scheduling_attributes.h"

#include <cstdint>
#include <filesystem>
#include <map>
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
  [[nodiscard]] friend bool operator==(const Original&, const Original&) = default;
};

// Reads it from the kernel. Failure when the thread is gone.
[[nodiscard]] Result<Original> read_original(pid_t thread);

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
    std::set<pid_t> left_alone;         // threads that look after themselves
    [[nodiscard]] friend bool operator==(const Process&, const Process&) = default;
  };
  std::map<ProcessId, Process> processes;
  std::set<std::string> masks;  // every mask that was set, as CpuSet writes it
  bool attributes = false;      // class or slice were set
  [[nodiscard]] friend bool operator==(const JournalContent&, const JournalContent&) = default;
};

// Lines that are damaged (a machine that lost power) are passed over.
[[nodiscard]] JournalContent parse_journal(std::string_view text);

struct Restored {
  int threads = 0;  // changed back
  int failed = 0;   // still there, and not changed back
};
// Gives every living thread back what it had. A thread whose mask is none that was set is left alone: it, or
// somebody else, chose that mask. Idempotent.
Restored restore(const JournalContent& content);

// The journal of one run, appended to line by line. Each line is in the kernel's hands when the call returns,
// which outlives the end of this process, though not of the machine, with which the threads end too.
//
// Used by one thread at a time.
class Journal {
 public:
  // In a folder of this user: millrace/ under $XDG_RUNTIME_DIR, else /tmp/millrace-UID. Made for its owner
  // alone. Failure where it cannot be made or belongs to somebody else.
  [[nodiscard]] static Result<std::filesystem::path> default_folder();
  // Begins an empty journal named after this process.
  [[nodiscard]] static Result<Journal> begin(const std::filesystem::path& folder);
  Journal(Journal&&) noexcept = default;
  Journal& operator=(Journal&&) = delete;
  // Removes the file.
  ~Journal();

  Status add_process(const ProcessId& process, const Original& original);
  Status add_thread(const ProcessId& process, pid_t thread, const Original& original);
  Status leave_alone(const ProcessId& process, pid_t thread);
  Status add_mask(const machine::CpuSet& mask);
  Status add_attributes();

  [[nodiscard]] const JournalContent& content() const { return content_; }
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  Journal(std::filesystem::path path, Descriptor file) : path_(std::move(path)), file_(std::move(file)) {}
  Status write_line(const std::string& line);

  std::filesystem::path path_;
  Descriptor file_;
  JournalContent content_;
};

// A run's board (birth_shim.h) lies beside its journal, under the same name but for this.
inline constexpr std::string_view board_suffix = ".board";

// Restores what runs have left that ended without doing so, and removes their journals and boards; nothing is
// done for runs that go on. Sums up.
Restored restore_left_behind(const std::filesystem::path& folder);

// Restores by one journal and removes it. Does nothing where there is none.
Restored restore_by_file(const std::filesystem::path& path);

}  // namespace millrace::placement
