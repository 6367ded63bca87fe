#include "millrace/intensity/sample/code_reader.h"

#include "millrace/base/error/clock.h"
#include "millrace/base/file/system_file.h"
#include "millrace/base/text/parse_number.h"
#include "millrace/base/text/take_word.h"
#include "millrace/intensity/sample/program_code.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <optional>
#include <poll.h>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

namespace millrace::intensity {
namespace {

struct Asked {
  pid_t thread = 0;
  std::uint64_t address = 0;
};
struct Answered {
  bool read = false;
  CodeBytes::Page page{};
};

std::optional<std::pair<Descriptor, Descriptor>> socket_pair() {
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) return std::nullopt;
  return std::pair(Descriptor::owned(ends[0]), Descriptor::owned(ends[1]));
}

// Closes everything inherited from the parent: file locks would stay held and connections would stay open.
bool keep_only_as_input(int descriptor) {
  return (descriptor == 0 || dup2(descriptor, 0) == 0) && syscall(SYS_close_range, 1U, ~0U, 0U) == 0;
}

[[noreturn]] void work(const CodeReader::Read& read) {
  const pid_t own = getpid();
  if (send(0, &own, sizeof own, MSG_NOSIGNAL) != sizeof own) _exit(0);
  Asked asked;
  while (recv(0, &asked, sizeof asked, 0) == sizeof asked) {
    Answered answered;
    answered.read = read(asked.thread, asked.address, answered.page);
    if (send(0, &answered, sizeof answered, MSG_NOSIGNAL) != sizeof answered) break;
  }
  _exit(0);
}

// Each byte comes with a socket from which a new worker takes its requests.
[[noreturn]] void make_workers(const CodeReader::Read& read) {
  std::signal(SIGCHLD, SIG_IGN);  // reaped automatically
  while (true) {
    char byte = 0;
    iovec buffer{&byte, sizeof byte};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
    msghdr message{};
    message.msg_iov = &buffer;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    if (recvmsg(0, &message, MSG_CMSG_CLOEXEC) <= 0) _exit(0);
    const cmsghdr* const header = CMSG_FIRSTHDR(&message);
    if (header == nullptr || header->cmsg_type != SCM_RIGHTS) continue;
    int number = -1;
    std::memcpy(&number, CMSG_DATA(header), sizeof number);
    if (fork() == 0) {
      if (!keep_only_as_input(number)) _exit(0);
      work(read);
    }
    close(number);
  }
}

bool pass(int to, int descriptor) {
  char byte = 0;
  iovec buffer{&byte, sizeof byte};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &buffer;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = CMSG_LEN(sizeof(int));
  cmsghdr* const header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(int));
  std::memcpy(CMSG_DATA(header), &descriptor, sizeof descriptor);
  return sendmsg(to, &message, MSG_NOSIGNAL | MSG_DONTWAIT) == sizeof byte;
}

bool comes_within(int socket, std::int64_t patience_ns) {
  const std::int64_t until_ns = now_ns() + patience_ns;
  constexpr std::int64_t ns_for_ms = 1'000'000;
  while (true) {
    const std::int64_t left_ms = std::max<std::int64_t>(0, (until_ns - now_ns() + ns_for_ms - 1) / ns_for_ms);
    pollfd waited{.fd = socket, .events = POLLIN, .revents = 0};
    const int count = poll(&waited, 1, static_cast<int>(left_ms));
    if (count >= 0 || errno != EINTR) return count > 0;
  }
}

// Reads the status file, because /proc/PID belongs to root if the process is not dumpable.
std::optional<uid_t> user_of_program(pid_t process) {
  const std::string status = read_system_file(fmt::format("/proc/{}/status", process)).value_or("");
  constexpr std::string_view key = "\nUid:";
  const std::size_t found = status.find(key);
  if (found == std::string::npos) return std::nullopt;
  std::string_view rest = std::string_view(status).substr(found + key.size());
  return parse_number<uid_t>(take_word(rest));
}

}  // namespace

CodeReader::CodeReader() : CodeReader(read_code_page, Limits{}) {}

CodeReader::CodeReader(const Read& read, const Limits& limits) : limits_(limits) {
  auto sockets = socket_pair();
  if (!sockets) return;
  maker_number_ = fork();
  if (maker_number_ == 0) {
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    prctl(PR_SET_NAME, code_reader_name);
    setsid();  // keeps terminal signals away from it
    if (!keep_only_as_input(sockets->second.get())) _exit(0);
    make_workers(read);
  }
  if (maker_number_ > 0) maker_ = std::move(sockets->first);
}

CodeReader::~CodeReader() {
  // Other processes may hold copies of the sockets, so closing them would not be noticed.
  late_.push_back(std::move(worker_));
  for (const Worker& worker : late_)
    if (worker.process.is_open()) syscall(SYS_pidfd_send_signal, worker.process.get(), SIGKILL, nullptr, 0U);
  if (maker_number_ > 0) kill(maker_number_, SIGKILL);
  while (maker_number_ > 0 && waitpid(maker_number_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

bool CodeReader::start_worker() {
  if (worker_.number > 0) return true;
  if (!maker_.is_open()) return false;
  const bool asked_before = worker_.socket.is_open();
  if (!asked_before) {
    auto sockets = socket_pair();
    if (!sockets || !pass(maker_.get(), sockets->second.get())) return false;
    worker_.socket = std::move(sockets->first);
  }
  // Waits only once for a worker that is slow to start; later calls only check whether it is there.
  pid_t number = -1;
  if (!comes_within(worker_.socket.get(), asked_before ? 0 : limits_.patience_ns)) return false;
  if (recv(worker_.socket.get(), &number, sizeof number, MSG_DONTWAIT) != sizeof number) {
    worker_ = {};
    return false;
  }
  worker_.number = number;
  worker_.process = Descriptor::owned(static_cast<int>(syscall(SYS_pidfd_open, number, 0U)));
  return true;
}

void CodeReader::put_aside(pid_t process, uid_t user, std::int64_t now) {
  rests_[user] = now + limits_.user_rests_ns;
  worker_.read = process;
  worker_.user = user;
  worker_.since_ns = now;
  late_.push_back(std::exchange(worker_, {}));
}

// Removes workers that have replied by now, or ended. Their results are no longer needed.
void CodeReader::look_at_late(std::int64_t now) {
  std::erase_if(late_, [&](Worker& worker) {
    if (comes_within(worker.socket.get(), 0)) return true;  // removing it ends it
    if (now - worker.since_ns < limits_.given_up_ns) return false;
    if (given_up_.insert(worker.read).second)
      syscall(SYS_pidfd_send_signal, worker.process.get(), SIGKILL, nullptr, 0U);
    return false;
  });
  std::erase_if(rests_, [&](const auto& entry) { return entry.second <= now; });
}

bool CodeReader::read(const LivingThread& of, std::uint64_t address, CodeBytes::Page& page) {
  const std::int64_t now = now_ns();
  look_at_late(now);
  if (gave_up(of.process) || late_.size() >= limits_.most_late) return false;
  const auto user = user_of_program(of.process);
  if (!user || rests_.contains(*user) ||
      std::ranges::any_of(late_, [&](const Worker& worker) { return worker.user == *user; }) ||
      !start_worker())
    return false;
  const Asked asked{.thread = of.thread, .address = address};
  if (send(worker_.socket.get(), &asked, sizeof asked, MSG_NOSIGNAL | MSG_DONTWAIT) != sizeof asked) {
    worker_ = {};  // it was killed
    return false;
  }
  if (!comes_within(worker_.socket.get(), limits_.patience_ns)) {
    put_aside(of.process, *user, now_ns());
    return false;
  }
  Answered answered;
  if (recv(worker_.socket.get(), &answered, sizeof answered, MSG_DONTWAIT) != sizeof answered) {
    worker_ = {};
    return false;
  }
  if (answered.read) page = answered.page;
  return answered.read;
}

void CodeReader::keep_only(const std::set<pid_t>& processes) {
  std::erase_if(given_up_, [&](pid_t process) { return !processes.contains(process); });
}

}  // namespace millrace::intensity
