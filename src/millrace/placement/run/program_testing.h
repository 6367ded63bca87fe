// For tests: calls run_program() in a child process, as the command does, and returns the result.
#pragma once

#include "millrace/base/testing/eventually_testing.h"
#include "millrace/placement/run/run_program.h"
#include "millrace/placement/task/children.h"
#include "millrace/placement/task/task_files.h"
#include "millrace/placement/task/testing_files.h"

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <poll.h>
#include <string>
#include <tuple>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/types.h>
#include <sys/wait.h>

namespace millrace::placement {

struct TestRun {
  int status = 0;      // shell exit code of the process that ran run_program()
  std::string output;  // standard output of that process and of the program
  std::string errors;  // standard error
  Summary summary;  // only: seconds, births, processes, changes, refused, left alone, crowds, birth way and
                    // reason, progress, notes
};

// A process that calls run_program(settings) and exits with the program's shell code, or with 99 after
// writing the error to standard error. `before` is called in it first.
class TestProcess {
 public:
  explicit TestProcess(RunSettings settings, const std::function<void()>& before = {}) {
    constexpr std::size_t longest_name = 15;
    if (!settings.command.empty())
      program_name_ =
          std::filesystem::path(settings.command.front()).filename().string().substr(0, longest_name);
    std::array<int, 2> ends{};
    if (pipe(ends.data()) != 0) std::abort();
    process_ = fork();
    if (process_ == 0) {
      dup2(ends[1], STDOUT_FILENO);
      close(ends[0]);
      close(ends[1]);
      if (freopen(errors_.path().c_str(), "w", stderr) == nullptr) _exit(98);
      if (before) before();
      sigprocmask(SIG_SETMASK, nullptr, &settings.blocked_signals);
      const auto summary = run_program(settings);
      if (!summary) {
        fmt::print(stderr, "{}\n", summary.error().message);
        std::fflush(stderr);
        _exit(99);
      }
      std::ofstream(report_.path()) << to_json(*summary);
      _exit(shell_code(summary->status));
    }
    close(ends[1]);
    output_ = ends[0];
  }
  ~TestProcess() {
    close(output_);
    if (process_ < 0) return;
    kill(process_, SIGKILL);
    waitpid(process_, nullptr, 0);
  }
  TestProcess(const TestProcess&) = delete;
  TestProcess& operator=(const TestProcess&) = delete;

  [[nodiscard]] pid_t process() const { return process_; }

  // The program's process once it runs; 0 if it does not appear.
  [[nodiscard]] pid_t program() const {
    pid_t found = 0;
    std::ignore = eventually([&] {
      for (const pid_t child : list_children(process_)) {
        const auto stat = read_task_stat(child, child);
        if (stat && stat->name == program_name_) found = child;
      }
      return found != 0;
    });
    return found;
  }

  // False if `text` does not appear.
  [[nodiscard]] bool wait_for_output(const std::string& text) {
    return eventually([&] {
      read_output(0);
      return text_.find(text) != std::string::npos;
    });
  }

  [[nodiscard]] TestRun finish() {
    while (open_)
      read_output(-1);
    int status = 0;
    waitpid(process_, &status, 0);
    process_ = -1;
    TestRun run{.status = shell_code(status), .output = text_, .errors = errors_.text(), .summary = {}};
    const auto json = nlohmann::json::parse(report_.text(), nullptr, false);
    if (json.is_object()) read_summary(json, run.summary);
    return run;
  }

 private:
  void read_output(int timeout_ms) {
    pollfd ready{.fd = output_, .events = POLLIN, .revents = 0};
    std::array<char, 65536> piece;
    while (open_ && poll(&ready, 1, timeout_ms) > 0) {
      const ssize_t size = read(output_, piece.data(), piece.size());
      if (size <= 0) open_ = false;
      text_.append(piece.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
    }
  }

  static void read_summary(const nlohmann::json& json, Summary& summary) {
    const auto& threads = json["threads"];
    summary.threads.births = threads["births"];
    summary.threads.processes = threads["processes"];
    summary.threads.changes = threads["changes"];
    summary.threads.refused = threads["refused"];
    summary.threads.left_alone = threads["left_alone"];
    for (const auto& crowd : threads["crowds"])
      summary.threads.crowds.push_back({crowd["processes"], crowd["threads"], crowd["seconds"]});
    summary.seconds = json["seconds"];
    summary.notes = json["notes"];
    summary.birth = parse_birth_way(json["birth"]["way"].get<std::string>()).value();
    summary.birth_reason = json["birth"]["reason"];
    for (const auto source : {ProgressSource::reported, ProgressSource::bytes, ProgressSource::instructions})
      if (json["progress"] == name_of(source)) summary.progress = source;
  }

  std::string program_name_;
  pid_t process_ = -1;
  int output_ = -1;
  bool open_ = true;
  std::string text_;
  TemporaryFile report_;
  TemporaryFile errors_;
};

[[nodiscard]] inline TestRun run_to_end(const RunSettings& settings) {
  return TestProcess(settings).finish();
}

// Settings with one policy instead of trials.
[[nodiscard]] inline RunSettings fixed(MaskPolicy masks, BirthWay way, std::vector<std::string> command) {
  RunSettings settings;
  settings.command = std::move(command);
  settings.birth = way;
  // On a busy machine nothing may be born for long; these tests depend on how births are seen.
  settings.hand_over_ns = 60'000'000'000;
  settings.policy = policy_of({.masks = masks});
  settings.policy_name = name_of(masks);
  settings.masks = masks == MaskPolicy::none ? MasksNeed::nothing : MasksNeed::topology;
  return settings;
}

}  // namespace millrace::placement
