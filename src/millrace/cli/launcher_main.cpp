// The `millrace` program: it executes the program that has the verb. Each of those loads only the libraries
// of its verbs. This one loads none (except libc if there is no static one, and what sanitizers need). So it
// starts fast, even if no file can be opened.
#include "millrace/base/error/system_reason.h"
#include "millrace/base/process/companion_program.h"
#include "millrace/base/process/rights_of_file.h"
#include "millrace/base/text/error_line.h"
#include "millrace/cli/exec/tight_limits.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <exception>
#include <filesystem>
#include <string>
#include <string_view>
#include <unistd.h>
#include <vector>

#include <fmt/format.h>
#include <sys/resource.h>

namespace {

struct Holder {
  std::string_view verb;
  const char* program;
};

constexpr std::array holders{
    Holder{"exec", "millrace-exec"},      Holder{"run", "millrace-run"},
    Holder{"batch", "millrace-run"},      Holder{"daemon", "millrace-daemon"},
    Holder{"watch", "millrace-daemon"},   Holder{"unwatch", "millrace-daemon"},
    Holder{"status", "millrace-daemon"},  Holder{"pause", "millrace-daemon"},
    Holder{"explain", "millrace-daemon"}, Holder{"top", "millrace-daemon"},
};

// Translates common requests for help: `millrace` alone, `millrace help [VERB...]`, `millrace -V`.
std::vector<std::string> known_words(int argc, char** argv) {
  std::vector<std::string> words(argv, argv + argc);
  if (words.empty()) words.emplace_back("millrace");
  if (words.size() == 1) words.emplace_back("--help");
  if (words[1] == "-V") words[1] = "--version";
  if (words[1] == "help" && words.size() == 2) words[1] = "--help";
  if (words[1] == "help") {
    words.erase(words.begin() + 1);
    words.emplace_back("--help");
  }
  return words;
}

constexpr std::string_view holder_of_all = "millrace-verbs";

// Address space for loading the video verbs. With less, the loader fails with a message that does not mention
// a limit.
constexpr rlim_t least_addresses = rlim_t{64} << 20;

bool has_room(std::string_view program) {
  if (program != "millrace-run" && program != holder_of_all) return true;
  rlimit addresses{};
  if (getrlimit(RLIMIT_AS, &addresses) != 0 || addresses.rlim_cur >= least_addresses) return true;
  millrace::print_error("millrace",
                        fmt::format("{} MiB of address space are too few; raise the limit: ulimit -v {}",
                                    addresses.rlim_cur >> 20U, (6 * least_addresses) >> 10U));
  return false;
}

// Executes the program of `millrace exec` without following it. Returns a shell's exit code if it cannot be
// executed.
int run_without(const std::string& too_little, char** command) {
  millrace::print_error(
      "millrace", fmt::format("{} are too few to follow the program; it runs without millrace", too_little));
  execvp(*command, command);
  const int reason = errno;
  millrace::print_error("millrace",
                        fmt::format("cannot run '{}': {}", *command, millrace::system_reason(reason)));
  constexpr int not_found = 127;
  constexpr int not_executable = 126;
  return reason == ENOENT ? not_found : not_executable;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    std::vector<std::string> words = known_words(argc, argv);
    const auto* const found = std::ranges::find(holders, words[1], &Holder::verb);
    const std::string_view program = found == holders.end() ? holder_of_all : found->program;
    if (!has_room(program)) return 1;
    std::vector<char*> pointers;
    for (std::string& word : words)
      pointers.push_back(word.data());
    pointers.push_back(nullptr);
    if (const std::string reason = millrace::rights_of_file(); !reason.empty())
      return millrace::report_error("millrace", {millrace::ErrorKind::usage, reason});
    if (argc > 1 && std::string_view(argv[1]) == "exec")
      if (const int command = millrace::cli::program_in(argc, argv); command != 0)
        if (const std::string too_little = millrace::cli::too_little_to_follow(); !too_little.empty())
          return run_without(too_little, argv + command);
    const std::filesystem::path path = millrace::companion_program(program);
    execv(path.c_str(), pointers.data());
    millrace::print_error(
        "millrace", fmt::format("cannot start {}: {}; it is a part of millrace, as it is built and installed",
                                path.string(), millrace::system_reason(errno)));
  } catch (const std::exception& error) {
    millrace::print_error("millrace", error.what());
  }
  return 1;
}
