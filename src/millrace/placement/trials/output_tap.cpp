#include "millrace/placement/trials/output_tap.h"

#include "millrace/base/descriptor/full_transfer.h"
#include "millrace/base/descriptor/pipe.h"
#include "millrace/base/error/system_reason.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <optional>
#include <poll.h>
#include <pty.h>
#include <span>
#include <string_view>
#include <termios.h>
#include <unistd.h>
#include <utility>

#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

namespace millrace::placement {
namespace {

constexpr std::size_t piece = 65536;

std::unexpected<Error> cannot(std::string_view what) {
  return failure("cannot {}: {}", what, system_reason(errno));
}

// Raw mode: the read end returns exactly what is written to the write end. The real terminal does the
// processing.
Result<Pipe> make_terminal(int like) {
  termios settings{};
  winsize size{};
  tcgetattr(like, &settings);
  cfmakeraw(&settings);
  ioctl(like, TIOCGWINSZ, &size);
  int master = -1;
  int slave = -1;
  if (openpty(&master, &slave, nullptr, &settings, &size) != 0) return cannot("make a pseudo-terminal");
  fcntl(master, F_SETFD, FD_CLOEXEC);
  fcntl(slave, F_SETFD, FD_CLOEXEC);
  auto program_end = Descriptor::owned(slave);
  // What a person types arrives at the real terminal only. So reading here must fail rather than wait
  // forever.
  if (const int write_only = ioctl(master, TIOCGPTPEER, O_WRONLY | O_NOCTTY | O_CLOEXEC); write_only >= 0)
    program_end = Descriptor::owned(write_only);
  return Pipe{Descriptor::owned(master), std::move(program_end)};
}

// Makes the size of terminal `in` follow that of `out`. The program, already notified by its own terminal, is
// notified again once the size is set.
class TerminalSize {
 public:
  TerminalSize(int in, int out, pid_t job) : in_(in), out_(out), job_(job) {
    follows_ = ioctl(out_, TIOCGWINSZ, &known_) == 0 && ioctl(in_, TIOCSWINSZ, &known_) == 0;
  }
  // Longest time until the next follow(); -1: no limit.
  [[nodiscard]] int patience_ms() const {
    constexpr int unseen_ms = 200;
    return follows_ ? unseen_ms : -1;
  }
  void follow() {
    winsize now{};
    if (!follows_ || ioctl(out_, TIOCGWINSZ, &now) != 0 || std::memcmp(&now, &known_, sizeof(now)) == 0)
      return;
    known_ = now;
    ioctl(in_, TIOCSWINSZ, &known_);
    kill(-job_, SIGWINCH);
  }

 private:
  int in_;
  int out_;
  pid_t job_;
  winsize known_{};
  bool follows_;
};

// Returns 0, or the error number. Waits if the stream does not block, as another process may have set it so.
int write_whole(int stream, std::span<const char> text) {
  while (!text.empty()) {
    const Transfer moved = write_all(stream, std::as_bytes(text));
    text = text.subspan(moved.bytes);
    if (moved.error == EAGAIN) {
      pollfd takes{.fd = stream, .events = POLLOUT, .revents = 0};
      poll(&takes, 1, -1);
    } else if (moved.error != 0) {
      return moved.error;
    }
  }
  return 0;
}

// Runs in the process between: copies `in` to `out`, and to `copy` as far as that accepts data.
class Relay {
 public:
  struct Ends {
    int in;
    int out;
    int copy;
    int owner;  // the socket to the process that made it
  };

  // goes_on: after a failed write, drop the text and go on, as programs do with messages.
  Relay(const Ends& ends, pid_t job, bool goes_on) : goes_on_(goes_on) {
    std::signal(SIGPIPE, SIG_IGN);
    // At the file size limit, writing then fails instead of ending this process.
    std::signal(SIGXFSZ, SIG_IGN);
    std::array<int, 4> kept = {ends.in, ends.out, ends.copy, ends.owner};
    for (int& descriptor : kept)
      descriptor = fcntl(descriptor, F_DUPFD, 10);
    for (int number = 0; number < static_cast<int>(kept.size()); ++number)
      dup2(kept[static_cast<std::size_t>(number)], number);
    syscall(SYS_close_range, static_cast<unsigned>(kept.size()), ~0U, 0U);
    fcntl(copy, F_SETFL, O_NONBLOCK);
    terminal_.emplace(in, out, job);
  }

  [[noreturn]] void run() {
    bool owned = true;
    while (true) {
      std::array<pollfd, 2> ready = {pollfd{.fd = in, .events = POLLIN, .revents = 0},
                                     pollfd{.fd = owned ? owner : -1, .events = POLLIN, .revents = 0}};
      const int some = poll(ready.data(), ready.size(), terminal_->patience_ms());
      terminal_->follow();
      if (some <= 0) continue;
      if (ready[1].revents != 0) {
        char request = 0;
        owned = recv(owner, &request, 1, 0) == 1;
        if (owned) {
          pass_on_what_is_there();
          tell(lost_);
        }
      } else if (ready[0].revents != 0) {
        pass_on();
      }
    }
  }

 private:
  static constexpr int in = 0;
  static constexpr int out = 1;
  static constexpr int copy = 2;
  static constexpr int owner = 3;

  // The owner may be gone.
  static void tell(int error) { send(owner, &error, sizeof(error), MSG_NOSIGNAL | MSG_DONTWAIT); }

  [[noreturn]] void end() {
    tell(lost_);
    _exit(0);
  }

  // Returns the number of bytes.
  std::size_t pass_on() {
    const ssize_t size = read(in, text_.data(), text_.size());
    if (size < 0 && errno == EINTR) return 0;
    // A pseudo-terminal ends with EIO.
    if (size <= 0) end();
    const auto text = std::span<const char>(text_).first(static_cast<std::size_t>(size));
    if (const int error = write_whole(out, text); error != 0) {
      if (lost_ == 0) lost_ = error;
      // This closes `in`, so that the program notices.
      if (!goes_on_ || error == EPIPE) end();
    }
    [[maybe_unused]] const ssize_t copied = write(copy, text.data(), text.size());
    return text.size();
  }

  // Ends even if descendants of the program go on writing.
  void pass_on_what_is_there() {
    // The kernel moves text from one end of a pseudo-terminal to the other a little later.
    constexpr int terminal_delay_ms = 20;
    constexpr int most_in_terminal = 2 * piece;
    const bool is_terminal = isatty(in) != 0;
    int left = most_in_terminal;
    if (!is_terminal && ioctl(in, FIONREAD, &left) != 0) return;
    pollfd more{.fd = in, .events = POLLIN, .revents = 0};
    while (left > 0 && poll(&more, 1, is_terminal ? terminal_delay_ms : 0) > 0)
      left -= static_cast<int>(pass_on());
  }

  bool goes_on_;
  int lost_ = 0;  // the error number of the first write that failed
  std::optional<TerminalSize> terminal_;
  std::array<char, piece> text_{};
};

}  // namespace

Result<OutputTap> OutputTap::on_stream(int stream) {
  auto ends = isatty(stream) != 0 ? make_terminal(stream) : make_pipe();
  auto copy = make_pipe();
  if (!ends || !copy) return std::unexpected(ends ? copy.error() : ends.error());
  std::array<int, 2> sockets{};
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets.data()) != 0)
    return cannot("make a socket");
  auto relay = Descriptor::owned(sockets[0]);
  auto owner = Descriptor::owned(sockets[1]);
  const pid_t job = getpgrp();
  const pid_t between = fork();
  if (between < 0) return cannot("make a process");
  if (between == 0) {
    // Orphaned, and in a process group of its own, so that terminal signals do not reach it. It ends when its
    // input does.
    if (fork() != 0) _exit(0);
    setpgid(0, 0);
    std::signal(SIGTTOU, SIG_IGN);
    ends->write_end.close();
    Relay({.in = ends->read_end.get(), .out = stream, .copy = copy->write_end.get(), .owner = owner.get()},
          job, stream == STDERR_FILENO)
        .run();
  }
  while (waitpid(between, nullptr, 0) < 0 && errno == EINTR) {
  }
  fcntl(copy->read_end.get(), F_SETFL, O_NONBLOCK);
  return OutputTap(std::move(ends->write_end), std::move(copy->read_end), std::move(relay), stream);
}

Result<OutputTap> OutputTap::on_new_descriptor(int descriptor) {
  auto ends = make_pipe();
  if (!ends) return std::unexpected(ends.error());
  fcntl(ends->read_end.get(), F_SETFL, O_NONBLOCK);
  return OutputTap(std::move(ends->write_end), std::move(ends->read_end), Descriptor(), descriptor);
}

std::string OutputTap::take() {
  std::string all;
  std::array<char, 4096> text;
  ssize_t size = 0;
  while ((size = read(copy_.get(), text.data(), text.size())) > 0)
    all.append(text.data(), static_cast<std::size_t>(size));
  ended_ = ended_ || size == 0;
  return all;
}

std::optional<Status> OutputTap::finish(int interrupt) {
  if (!relay_.is_open()) return Status{};
  constexpr char request = 1;
  if (!std::exchange(asked_, true)) send(relay_.get(), &request, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
  std::array<pollfd, 2> ready = {pollfd{.fd = relay_.get(), .events = POLLIN, .revents = 0},
                                 pollfd{.fd = interrupt, .events = POLLIN, .revents = 0}};
  while (poll(ready.data(), ready.size(), -1) < 0 && errno == EINTR) {
  }
  if (ready[0].revents == 0) return std::nullopt;
  int error = 0;
  // Without an answer, it was killed.
  if (recv(relay_.get(), &error, sizeof(error), 0) != sizeof(error)) error = ESRCH;
  // A reader that has gone away wants no more.
  if (error == 0 || error == EPIPE) return Status{};
  return failure("cannot write the program's standard {}: {}; what it wrote after that is lost; run it again "
                 "once that is mended",
                 descriptor_ == STDERR_FILENO ? "error" : "output",
                 error == ESRCH ? "the process that passes it on was killed" : system_reason(error));
}

}  // namespace millrace::placement
