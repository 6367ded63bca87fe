#include "millrace/cli/run/live_screen.h"

#include <chrono>
#include <clocale>
#include <cstdint>
#include <cstdlib>
#include <fcntl.h>
#include <string>
#include <unistd.h>
#include <utility>

// Its macros have names like clear, move and timeout.
#define NCURSES_NOMACROS 1
#include <ncurses.h>

namespace millrace::cli {
namespace {

constexpr std::chrono::milliseconds interval{200};

// Opens the terminal of standard error again, so that it can also be read.
std::FILE* open_terminal(const char* mode) {
  std::array<char, 256> name{};
  if (ttyname_r(STDERR_FILENO, name.data(), name.size()) != 0) return nullptr;
  const int descriptor = ::open(name.data(), O_RDWR | O_NOCTTY | O_CLOEXEC);
  if (descriptor < 0) return nullptr;
  std::FILE* const file = fdopen(descriptor, mode);
  if (file == nullptr) ::close(descriptor);
  return file;
}

attr_t attributes_of(report::LiveSpan::Style style) {
  switch (style) {
  case report::LiveSpan::Style::strong:
    return A_BOLD;
  case report::LiveSpan::Style::soft:
    return A_DIM;
  case report::LiveSpan::Style::bar:
    return A_REVERSE;
  case report::LiveSpan::Style::plain:
    break;
  }
  return A_NORMAL;
}

}  // namespace

Result<std::unique_ptr<LiveScreen>> LiveScreen::open() {
  if (isatty(STDERR_FILENO) != 1)
    return usage_error("--live needs a terminal on standard error; leave it out");
  std::unique_ptr<LiveScreen> live(new LiveScreen());
  live->output_.reset(open_terminal("w"));
  live->input_.reset(open_terminal("r"));
  if (!live->output_ || !live->input_)
    return usage_error("--live cannot open the terminal of standard error; leave it out");
  const char* const kind = std::getenv("TERM");
  const auto unable = [&] {
    return usage_error("--live cannot draw on a terminal of type '{}' (TERM); leave it out",
                       kind == nullptr ? "" : kind);
  };
  if (kind == nullptr || *kind == '\0') return unable();
  // Only LC_CTYPE, which determines the width of characters for drawing.
  static_cast<void>(std::setlocale(LC_CTYPE, ""));
  for (std::size_t i = 0; i < taken_signals.size(); ++i)
    sigaction(taken_signals[i], nullptr, &live->before_[i]);
  live->screen_ = newterm(kind, live->output_.get(), live->input_.get());
  if (live->screen_ == nullptr) return unable();
  const char* const moves = tigetstr("cup");
  if (moves == nullptr || reinterpret_cast<std::intptr_t>(moves) == -1) return unable();
  static_cast<void>(cbreak());
  static_cast<void>(noecho());
  static_cast<void>(curs_set(0));
  static_cast<void>(nodelay(stdscr, true));
  static_cast<void>(keypad(stdscr, true));
  live->painter_ = std::jthread([self = live.get()](const std::stop_token& end) { self->draw_until(end); });
  return live;
}

LiveScreen::~LiveScreen() {
  if (painter_.joinable()) {
    painter_.request_stop();
    painter_.join();
  }
  if (screen_ == nullptr) return;
  static_cast<void>(endwin());
  delscreen(screen_);
  for (std::size_t i = 0; i < taken_signals.size(); ++i)
    sigaction(taken_signals[i], &before_[i], nullptr);
}

void LiveScreen::show(report::LiveRun run) {
  const std::scoped_lock lock(mutex_);
  run_ = std::move(run);
}

void LiveScreen::draw_until(const std::stop_token& end) {
  std::unique_lock lock(mutex_);
  while (!end.stop_requested()) {
    const report::LiveRun run = run_;
    lock.unlock();
    // Discards typed keys; a new window size arrives the same way.
    while (wgetch(stdscr) != ERR) {
    }
    draw(run);
    lock.lock();
    // Until the end or the timeout.
    static_cast<void>(changed_.wait_for(lock, end, interval, [] { return false; }));
  }
}

void LiveScreen::draw(const report::LiveRun& run) {
  const int height = getmaxy(stdscr);
  const int width = getmaxx(stdscr);
  static_cast<void>(werase(stdscr));
  int row = 0;
  for (const report::LiveLine& line : report::live_lines(run, width, height)) {
    static_cast<void>(wmove(stdscr, row++, 0));
    for (const report::LiveSpan& span : line) {
      static_cast<void>(wattrset(stdscr, static_cast<int>(attributes_of(span.style))));
      static_cast<void>(waddnstr(stdscr, span.text.c_str(), static_cast<int>(span.text.size())));
    }
  }
  static_cast<void>(wattrset(stdscr, A_NORMAL));
  static_cast<void>(wrefresh(stdscr));
}

}  // namespace millrace::cli
