#include "millrace/cli/daemon/top_screen.h"

#include "millrace/base/descriptor/descriptor.h"
#include "millrace/placement/daemon/daemon_client.h"
#include "millrace/placement/daemon/daemon_view.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <clocale>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <iterator>
#include <memory>
#include <poll.h>
#include <ranges>
#include <tuple>
#include <unistd.h>
#include <vector>

#include <nlohmann/json.hpp>
#include <sys/signalfd.h>

#define NCURSES_NOMACROS  // call functions instead of macros
#include <ncurses.h>

namespace millrace::cli {
namespace {

using placement::ViewLine;
using placement::ViewPart;

struct EndScreen {
  void operator()(SCREEN* screen) const {
    endwin();
    delscreen(screen);
  }
};

void begin_colours() {
  if (!has_colors()) return;
  start_color();
  use_default_colors();
  constexpr short colours[] = {COLOR_GREEN, COLOR_RED,    COLOR_MAGENTA, COLOR_CYAN,
                               COLOR_BLUE,  COLOR_YELLOW, COLOR_WHITE};
  for (short i = 0; i < static_cast<short>(std::size(colours)); ++i)
    init_pair(static_cast<short>(i + 1), colours[i], -1);
}

void draw(const ViewLine& line, int row) {
  move(row, 0);
  clrtoeol();
  for (const ViewPart& part : line) {
    attr_t look = part.heading ? A_BOLD : A_NORMAL;
    if (part.unit && has_colors()) look |= COLOR_PAIR(static_cast<int>(*part.unit) + 1);
    attrset(static_cast<int>(look));
    addstr(part.text.c_str());
  }
  attrset(A_NORMAL);
}

void draw(const std::vector<ViewLine>& lines, int first) {
  erase();
  int row = 0;
  for (const ViewLine& line : lines | std::views::drop(first) | std::views::take(std::max(LINES - 1, 0)))
    draw(line, row++);
  // Clear what a row that was too long wrote into the next one.
  move(row, 0);
  clrtobot();
  draw({ViewPart{"q ends, arrows move, p pauses and resumes placing", true, {}}}, LINES - 1);
  refresh();
}

// Makes terminating signals readable from a descriptor, so that the terminal can be restored first.
class EndingSignals {
 public:
  EndingSignals() {
    sigset_t signals;
    sigemptyset(&signals);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT})
      sigaddset(&signals, signal);
    sigprocmask(SIG_BLOCK, &signals, &before_);
    arrivals_ = Descriptor::owned(signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
  }
  // Consumes pending signals, so that they do not end the program.
  ~EndingSignals() {
    signalfd_siginfo arrived{};
    while (read(arrivals_.get(), &arrived, sizeof arrived) > 0) {
    }
    sigprocmask(SIG_SETMASK, &before_, nullptr);
  }
  EndingSignals(const EndingSignals&) = delete;
  EndingSignals& operator=(const EndingSignals&) = delete;
  [[nodiscard]] int descriptor() const { return arrivals_.get(); }

 private:
  sigset_t before_{};
  Descriptor arrivals_;
};

enum class Woken { key, time, end };

// Waits for a key, a change of the window's size, or the timeout.
Woken wait(const EndingSignals& signals, double seconds) {
  constexpr double in_ms = 1000;
  std::array<pollfd, 2> waited{{{signals.descriptor(), POLLIN, 0}, {STDIN_FILENO, POLLIN, 0}}};
  // If standard input is not a terminal, only the timeout counts.
  const nfds_t count = isatty(STDIN_FILENO) == 1 ? 2 : 1;
  const int ready = poll(waited.data(), count, static_cast<int>(seconds * in_ms));
  if (ready < 0) return errno == EINTR ? Woken::key : Woken::end;
  if (waited[0].revents != 0 || (waited[1].revents & (POLLHUP | POLLERR | POLLNVAL)) != 0) return Woken::end;
  return waited[1].revents != 0 ? Woken::key : Woken::time;
}

// Effect of the keys pressed meanwhile.
struct Keys {
  bool end = false;
  bool pause = false;
  int lines = 0;
};

Keys read_keys() {
  Keys keys;
  const int page = std::max(LINES - 2, 1);
  for (int key = getch(); key != ERR; key = getch()) {
    keys.end = keys.end || key == 'q' || key == 'Q';
    keys.pause = keys.pause != (key == 'p');
    if (key == KEY_DOWN || key == KEY_UP) keys.lines += key == KEY_DOWN ? 1 : -1;
    if (key == KEY_NPAGE || key == KEY_PPAGE) keys.lines += key == KEY_NPAGE ? page : -page;
  }
  return keys;
}

}  // namespace

Status show_top(const std::string& socket, double seconds) {
  auto client = placement::DaemonClient::connect(socket);
  if (!client) return std::unexpected(client.error());
  std::setlocale(LC_CTYPE, "");  // NOLINT(concurrency-mt-unsafe): before anything else
  const EndingSignals signals;
  const std::unique_ptr<SCREEN, EndScreen> screen(newterm(nullptr, stdout, stdin));
  // Without cursor positioning, curses would print line after line.
  const char* const moves = screen ? tigetstr("cup") : nullptr;
  if (moves == nullptr || reinterpret_cast<std::intptr_t>(moves) == -1)
    return usage_error("cannot draw on this terminal; use 'millrace top --once'");
  cbreak();
  noecho();
  curs_set(0);
  keypad(stdscr, TRUE);
  nodelay(stdscr, TRUE);
  begin_colours();
  int first = 0;
  while (true) {
    const auto status = client->ask("Status", {{"threads", true}});
    if (!status) return std::unexpected(status.error());
    const auto lines = placement::top_view(*status, static_cast<std::size_t>(std::max(COLS - 1, 1)));
    first = std::clamp(first, 0, std::max(0, static_cast<int>(lines.size()) - 2));
    draw(lines, first);
    const Woken woken = wait(signals, seconds);
    const Keys keys = read_keys();
    if (woken == Woken::end || keys.end) return {};
    first += keys.lines;
    if (!keys.pause) continue;
    const bool paused = status->contains("daemon") && (*status)["daemon"].value("paused", false);
    // If the user may not pause the daemon, it refuses and nothing changes.
    std::ignore = client->ask("Pause", {{"resume", paused}});
  }
}

}  // namespace millrace::cli
