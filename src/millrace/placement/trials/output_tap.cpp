#include "millrace/placement/trials/output_tap.h"

#include "millrace/base/clock.h"
#include "millrace/base/full_transfer.h"
#include "millrace/base/pipe.h"
#include "millrace/base/system_reason.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <span>
#include <string_view>
#include <termios.h>
#include <unistd.h>

#include <sys/ioctl.h>
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
  return Pipe{Descriptor::owned(master), Descriptor::owned(slave)};
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

// Runs in the process between: copies `in` to `out`, and to `copy` as far as that accepts data. If the reader
// of `out` is gone, `in` is closed, so that the program notices.
[[noreturn]] void pass_on(int in, int out, int copy, pid_t job) {
  std::signal(SIGPIPE, SIG_IGN);
  std::array<int, 3> kept = {in, out, copy};
  for (int number = 0; number < 3; ++number)
    kept[static_cast<std::size_t>(number)] = fcntl(kept[static_cast<std::size_t>(number)], F_DUPFD, 10);
  for (int number = 0; number < 3; ++number)
    dup2(kept[static_cast<std::size_t>(number)], number);
  syscall(SYS_close_range, 3U, ~0U, 0U);
  fcntl(2, F_SETFL, O_NONBLOCK);
  std::array<char, piece> text;
  TerminalSize terminal(0, 1, job);
  while (true) {
    pollfd ready{.fd = 0, .events = POLLIN, .revents = 0};
    const int some = poll(&ready, 1, terminal.patience_ms());
    terminal.follow();
    if (some <= 0) continue;
    const ssize_t size = read(0, text.data(), text.size());
    if (size < 0 && errno == EINTR) continue;
    // A pseudo-terminal ends with EIO.
    if (size <= 0) _exit(0);
    if (write_all(1, std::as_bytes(std::span(text).first(static_cast<std::size_t>(size)))).error != 0)
      _exit(0);
    [[maybe_unused]] const ssize_t copied = write(2, text.data(), static_cast<std::size_t>(size));
  }
}

}  // namespace

Result<OutputTap> OutputTap::on_stream(int stream) {
  auto ends = isatty(stream) != 0 ? make_terminal(stream) : make_pipe();
  auto copy = make_pipe();
  if (!ends || !copy) return std::unexpected(ends ? copy.error() : ends.error());
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
    pass_on(ends->read_end.get(), stream, copy->write_end.get(), job);
  }
  while (waitpid(between, nullptr, 0) < 0 && errno == EINTR) {
  }
  fcntl(copy->read_end.get(), F_SETFL, O_NONBLOCK);
  return OutputTap(std::move(ends->write_end), std::move(copy->read_end), stream);
}

Result<OutputTap> OutputTap::on_new_descriptor(int descriptor) {
  auto ends = make_pipe();
  if (!ends) return std::unexpected(ends.error());
  fcntl(ends->read_end.get(), F_SETFL, O_NONBLOCK);
  return OutputTap(std::move(ends->write_end), std::move(ends->read_end), descriptor);
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

void OutputTap::finish(double seconds) {
  const std::int64_t until = now_ns() + nanoseconds(seconds);
  std::array<char, 4096> text;
  while (true) {
    const std::int64_t left_ms = (until - now_ns()) / 1'000'000;
    pollfd ready{.fd = copy_.get(), .events = POLLIN, .revents = 0};
    if (left_ms <= 0 || poll(&ready, 1, static_cast<int>(left_ms)) == 0) return;
    if (read(copy_.get(), text.data(), text.size()) == 0) return;
  }
}

}  // namespace millrace::placement
