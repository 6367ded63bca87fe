// A kernel compiler for tests. The name of the link by which it is started selects its behaviour, see
// `behaviours`.
#include "millrace/base/descriptor/full_transfer.h"
#include "millrace/image/kernel/compiler_message.h"

#include <array>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <sched.h>
#include <string_view>
#include <unistd.h>
#include <vector>

#include <sys/prctl.h>

using namespace millrace;

namespace {

using image::MessageKind;
using image::pack_message;

void send(std::span<const std::byte> bytes) {
  if (write_all(STDOUT_FILENO, bytes).error != 0) std::_Exit(1);
}

void hang() {
  prctl(PR_SET_NAME, "hanging");
  while (true)
    pause();
}

void become_the_real_one() {
  const char* const path = std::getenv("MILLRACE_REAL_COMPILER");
  execl(path, path, nullptr);
  std::_Exit(1);
}

// Runs until the first request.
void greet() {
  send(pack_message(MessageKind::ready, std::getenv("MILLRACE_IDENTITY")));
  std::array<std::byte, 4096> request{};
  if (read(STDIN_FILENO, request.data(), request.size()) <= 0) std::_Exit(0);
}

std::vector<std::byte> some_object() {
  const std::vector<std::byte> zeros(1000);
  return pack_message(MessageKind::object, zeros);
}

const std::map<std::string_view, void (*)()> behaviours{
    {"ends-at-once", [] { std::_Exit(3); }},
    {"hangs-at-once", hang},
    {"writes-nonsense-at-once", [] { send(std::vector<std::byte>(4096, std::byte{'x'})); }},
    {"is-of-another-build", [] { send(pack_message(MessageKind::ready, "another")), hang(); }},
    {"crashes", [] { greet(), std::signal(SIGSEGV, SIG_DFL), std::raise(SIGSEGV); }},
    {"ends", [] { greet(), std::_Exit(4); }},
    {"hangs", [] { greet(), hang(); }},
    {"closes-and-hangs", [] { greet(), close(STDIN_FILENO), close(STDOUT_FILENO), hang(); }},
    {"writes-nonsense", [] { greet(), send(std::vector<std::byte>(4096, std::byte{'x'})), hang(); }},
    {"writes-half",
     [] {
       greet();
       const auto message = some_object();
       send(std::span(message).first(500));
       std::_Exit(0);
     }},
    {"writes-damage",
     [] {
       greet();
       auto message = some_object();
       message.back() = std::byte{1};
       send(message);
       hang();
     }},
    {"says-ready-twice", [] { greet(), send(pack_message(MessageKind::ready, "")), hang(); }},
    {"sends-no-object", [] { greet(), send(some_object()), hang(); }},
    {"hangs-in-the-background",
     [] { sched_getscheduler(0) == SCHED_IDLE ? (greet(), hang()) : become_the_real_one(); }},
};

}  // namespace

int main(int /*argc*/, char** argv) {
  const auto found = behaviours.find(std::filesystem::path(argv[0]).filename().string());
  if (found == behaviours.end()) return 2;
  found->second();
}
