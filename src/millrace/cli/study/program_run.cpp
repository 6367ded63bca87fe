#include "millrace/cli/study/program_run.h"

#include "millrace/base/descriptor/descriptor.h"
#include "millrace/base/error/clock.h"
#include "millrace/base/error/system_reason.h"
#include "millrace/base/file/whole_file.h"
#include "millrace/base/process/companion_program.h"
#include "millrace/base/text/printable.h"
#include "millrace/machine/thread/thread_affinity.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <fstream>
#include <map>
#include <optional>
#include <system_error>
#include <thread>
#include <unistd.h>
#include <utility>

#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

namespace millrace::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t most_error_bytes = std::size_t{1} << 20;
constexpr auto between_looks = std::chrono::milliseconds(2);
// Grace period of a program after it was asked to end.
constexpr std::int64_t longest_end_ns = 5'000'000'000;
// A service manager or container signals several processes one after the other.
constexpr auto longest_between_signals = std::chrono::milliseconds(200);

std::string last_line(std::string text) {
  while (text.ends_with('\n'))
    text.pop_back();
  const std::size_t end = text.rfind('\n');
  return printable(end == std::string::npos ? text : text.substr(end + 1));
}

// Whether a stop was requested, or is requested within that time.
bool is_stopped(const Interrupt& interrupt) {
  for (auto waited = std::chrono::milliseconds(0); !interrupt.requested() && waited < longest_between_signals;
       waited += between_looks)
    std::this_thread::sleep_for(between_looks);
  return interrupt.requested();
}

// `go`: read end of a pipe; a byte on it starts the program.
[[noreturn]] void become(char* const* words, const char* errors, pid_t parent, int go) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  setpgid(0, 0);
  char byte = 0;
  if (getppid() != parent || read(go, &byte, 1) != 1) _exit(127);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  signal(SIGPIPE, SIG_DFL);
  const int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
  const int file = open(errors, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (nothing < 0 || file < 0 || dup2(nothing, STDIN_FILENO) < 0 || dup2(nothing, STDOUT_FILENO) < 0 ||
      dup2(file, STDERR_FILENO) < 0)
    _exit(127);
  execvp(words[0], words);
  _exit(127);
}

// Run-queue wait of a process's threads, from the kernel's figures for each.
class WaitingTimes {
 public:
  explicit WaitingTimes(pid_t process) : folder_(fs::path("/proc") / std::to_string(process) / "task") {}

  void look() {
    std::error_code error;
    for (fs::directory_iterator entry(folder_, error), end; !error && entry != end; entry.increment(error)) {
      std::ifstream file(entry->path() / "schedstat");
      std::int64_t computed = 0;
      std::int64_t waited = 0;
      if (file >> computed >> waited) waited_ns_[entry->path().filename()] = waited;
    }
  }
  [[nodiscard]] double seconds_in_all() const {
    std::int64_t sum = 0;
    for (const auto& [thread, waited] : waited_ns_)
      sum += waited;
    return seconds(sum);
  }

 private:
  fs::path folder_;
  std::map<std::string, std::int64_t> waited_ns_;
};

}  // namespace

std::string find_program(std::string_view name, const std::string& folder) {
  if (!folder.empty()) return fs::path(folder) / name;
  std::error_code error;
  // In a build each program has its own folder; after installation, programs for users are in another folder
  // than this one.
  const fs::path own = fs::read_symlink("/proc/self/exe", error).parent_path();
  const std::string_view short_name = name.starts_with("millrace-") ? name.substr(9) : name;
  for (const fs::path& place :
       {own / name, own / "../../../apps" / short_name / name, own / "../../bin" / name})
    if (fs::exists(place, error)) return place.lexically_normal();
  return std::string(name);
}

Result<ProgramRun> run_program(const std::vector<std::string>& words, const ProgramSetup& setup,
                               const fs::path& scratch, const Interrupt& interrupt) {
  const std::string errors = scratch / "errors";
  std::vector<std::string> kept = words;
  std::vector<char*> pointers;
  for (std::string& word : kept)
    pointers.push_back(word.data());
  pointers.push_back(nullptr);
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return failure("cannot create a pipe: {}", system_reason(errno));
  const Descriptor go = Descriptor::owned(ends[0]);
  Descriptor start_it = Descriptor::owned(ends[1]);
  pid_t child = -1;
  {
    const machine::AffinityGuard guard;  // the child inherits the mask
    if (setup.cpus.count() > 0)
      if (const auto bound = machine::bind_current_thread(setup.cpus); !bound)
        return std::unexpected(bound.error());
    const pid_t parent = getpid();
    child = fork();
    if (child < 0) return failure("cannot start {}: {}", words.front(), system_reason(errno));
    if (child == 0) {
      close(ends[1]);
      become(pointers.data(), errors.c_str(), parent, ends[0]);
    }
  }
  const auto granted = setup.scheduling == machine::SchedulingChange{}
                           ? Result<machine::SchedulingAttributes>()
                           : machine::change_scheduling(child, setup.scheduling);
  // Called in parent and child, so that the group exists whichever runs first.
  setpgid(child, child);
  const Status ready = !granted             ? std::unexpected(granted.error())
                       : setup.before_start ? setup.before_start(child)
                                            : Status();
  if (!ready) {
    start_it = Descriptor();  // the child exits without executing the program
    waitpid(child, nullptr, 0);
    return std::unexpected(ready.error());
  }
  WaitingTimes waiting(child);
  const std::int64_t start = now_ns();
  if (write(start_it.get(), "g", 1) != 1)
    return failure("cannot start {}: {}", words.front(), system_reason(errno));
  int status = 0;
  rusage usage{};
  std::int64_t stopped_ns = 0;
  for (;;) {
    const pid_t ended = wait4(child, &status, WNOHANG, &usage);
    if (ended == child) break;
    if (ended < 0 && errno != EINTR)
      return failure("cannot wait for {}: {}", words.front(), system_reason(errno));
    if (interrupt.requested() && stopped_ns == 0) {
      stopped_ns = now_ns();
      kill(-child, SIGTERM);
    } else if (stopped_ns != 0 && now_ns() - stopped_ns > longest_end_ns) {
      kill(-child, SIGKILL);
    }
    if (setup.watch_waiting) waiting.look();
    std::this_thread::sleep_for(between_looks);
  }
  ProgramRun run{.seconds = seconds(now_ns() - start)};
  const bool ended_well = WIFEXITED(status) && WEXITSTATUS(status) == 0;
  // A program that was ended together with this one has not failed.
  if (stopped_ns != 0 || (!ended_well && is_stopped(interrupt))) {
    kill(-child, SIGKILL);  // remaining processes of its group
    return std::unexpected(Error{ErrorKind::interrupted, "interrupted; nothing was written"});
  }
  run.errors = read_text(errors, most_error_bytes).value_or("");
  if (!ended_well) {
    if (WIFEXITED(status) && WEXITSTATUS(status) == 127 && run.errors.empty())
      return failure("cannot start {}; name the folder that holds it with --programs",
                     printable(words.front()));
    return failure("{} failed: {}", printable(words.front()),
                   run.errors.empty() ? "it printed no reason" : last_line(run.errors));
  }
  const auto seconds_of = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  run.cpu_seconds = seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime);
  run.switches = usage.ru_nvcsw + usage.ru_nivcsw;
  run.waiting_seconds = waiting.seconds_in_all();
  return run;
}

Result<ScratchFolder> ScratchFolder::make() {
  std::error_code error;
  const fs::path parent = fs::temp_directory_path(error);
  if (error) return failure("no folder for temporary files: {}; set TMPDIR", error.message());
  std::string name = parent / "millrace-study-XXXXXX";
  if (mkdtemp(name.data()) == nullptr)
    return failure("cannot create a folder in {}: {}; set TMPDIR", parent.string(), system_reason(errno));
  return ScratchFolder(name);
}

ScratchFolder::ScratchFolder(ScratchFolder&& other) noexcept : path_(std::exchange(other.path_, {})) {}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  if (!path_.empty()) fs::remove_all(path_, ignored);
}

}  // namespace millrace::cli
