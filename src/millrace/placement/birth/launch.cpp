#include "millrace/placement/birth/launch.h"

#include "millrace/base/descriptor/pipe.h"
#include "millrace/base/error/system_reason.h"

#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fcntl.h>
#include <string_view>
#include <unistd.h>

namespace millrace::placement {
namespace {

constexpr int not_found = 127;
constexpr int not_executable = 126;

// Variables that name a process by its ID. A process ignores them if the ID is not its own
// (sd_listen_fds(3)).
constexpr std::array<std::string_view, 3> process_variables = {
    "LISTEN_PID=", "WATCHDOG_PID=", "SYSTEMD_EXEC_PID="};

// Everything that the new process needs. It is made before the fork, because the child must not allocate.
struct Prepared {
  std::vector<char*> arguments;
  std::vector<char*> environment;
};

// Returns the variable's name, with "=", if `entry` names `process`; "" otherwise.
std::string_view variable_naming(std::string_view entry, pid_t process) {
  for (const std::string_view name : process_variables) {
    if (!entry.starts_with(name)) continue;
    const std::string_view value = entry.substr(name.size());
    pid_t number = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
    if (error == std::errc() && end == value.data() + value.size() && number == process) return name;
  }
  return "";
}

// Makes the variables that name `maker` name this process. Allocates nothing. The texts live as long as this
// object.
class RenamedProcess {
 public:
  RenamedProcess(std::vector<char*>& environment, pid_t maker) {
    std::size_t used = 0;
    bool has_sockets = false;
    for (char*& entry : environment) {
      const std::string_view name = entry == nullptr ? "" : variable_naming(entry, maker);
      if (name.empty() || used == texts_.size()) continue;
      has_sockets = has_sockets || name == process_variables.front();
      std::array<char, 32>& text = texts_[used++];
      name.copy(text.data(), name.size());
      *std::to_chars(text.data() + name.size(), text.data() + text.size() - 1, getpid()).ptr = '\0';
      entry = text.data();
    }
    // Identifies the maker in another way, and may be missing. The list ends with a null, which stays last.
    if (has_sockets)
      std::erase_if(environment, [](const char* entry) {
        return entry != nullptr && std::string_view(entry).starts_with("LISTEN_PIDFDID=");
      });
  }

 private:
  std::array<std::array<char, 32>, process_variables.size()> texts_{};
};

Prepared prepare(const LaunchSettings& settings) {
  Prepared prepared;
  for (const std::string& word : settings.command)
    prepared.arguments.push_back(const_cast<char*>(word.c_str()));
  prepared.arguments.push_back(nullptr);
  const auto replaced = [&settings](const char* entry) {
    const std::size_t name = std::strcspn(entry, "=") + 1;
    for (const std::string& own : settings.environment)
      if (own.compare(0, name, entry, std::min(name, std::strlen(entry))) == 0) return true;
    return false;
  };
  for (char** entry = environ; *entry != nullptr; ++entry)
    if (!replaced(*entry)) prepared.environment.push_back(*entry);
  for (const std::string& entry : settings.environment)
    prepared.environment.push_back(const_cast<char*>(entry.c_str()));
  prepared.environment.push_back(nullptr);
  return prepared;
}

// Runs in the new process.
[[noreturn]] void run_program(const LaunchSettings& settings, Prepared& prepared, const InheritedState& state,
                              pid_t maker, int go, int error) {
  char word = 0;
  if (read(go, &word, 1) != 1) _exit(not_executable);
  // Moved clear of the descriptors that the program is given.
  constexpr int beyond = 1001;
  const int moved = fcntl(error, F_DUPFD_CLOEXEC, beyond);
  for (const auto& [here, there] : settings.descriptors)
    if (here == there)
      fcntl(there, F_SETFD, 0);  // dup2() would leave close-on-exec set
    else
      dup2(here, there);
  settings.ignored_signals.restore();
  state.take_over(maker);
  sigprocmask(SIG_SETMASK, &settings.blocked_signals, nullptr);
  const RenamedProcess renamed(prepared.environment, maker);
  execvpe(prepared.arguments.front(), prepared.arguments.data(), prepared.environment.data());
  const int reason = errno;
  // If this write fails, the exit code still tells the reason.
  [[maybe_unused]] const ssize_t told = write(moved < 0 ? error : moved, &reason, sizeof(reason));
  _exit(reason == ENOENT ? not_found : not_executable);
}

}  // namespace

Result<WaitingProgram> WaitingProgram::make(const LaunchSettings& settings) {
  auto go = make_pipe();
  auto error = make_pipe();
  if (!go || !error) return std::unexpected(go ? error.error() : go.error());
  Prepared prepared = prepare(settings);
  const InheritedState state = InheritedState::now();
  const pid_t maker = getpid();
  const pid_t process = fork();
  if (process < 0) return failure("cannot make a process: {}", system_reason(errno));
  if (process == 0) {
    close(go->write_end.get());
    run_program(settings, prepared, state, maker, go->read_end.get(), error->write_end.get());
  }
  WaitingProgram waiting(ChildProcess::of(process), state, std::move(go->write_end),
                         std::move(error->read_end));
  if (Status handed = state.hand_down(process); !handed) return std::unexpected(handed.error());
  return waiting;
}

WaitingProgram::~WaitingProgram() {
  if (!go_.is_open()) return;
  go_.close();
  process_.wait();
}

int become(const LaunchSettings& settings) {
  const Prepared prepared = prepare(settings);
  settings.ignored_signals.restore();
  sigprocmask(SIG_SETMASK, &settings.blocked_signals, nullptr);
  execvpe(prepared.arguments.front(), prepared.arguments.data(), prepared.environment.data());
  return errno;
}

int WaitingProgram::begin() {
  state_.give_up_timers();
  const char word = 1;
  if (write(go_.get(), &word, 1) != 1) return errno;
  go_.close();
  int reason = 0;
  ssize_t size = 0;
  while ((size = read(error_.get(), &reason, sizeof(reason))) < 0 && errno == EINTR) {
  }
  error_.close();
  return size == sizeof(reason) ? reason : 0;
}

}  // namespace millrace::placement
