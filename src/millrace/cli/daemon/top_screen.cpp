#include "millrace/cli/daemon/top_screen.h"

#include "millrace/placement/daemon/daemon_client.h"
#include "millrace/placement/daemon/daemon_view.h"

#include <algorithm>
#include <clocale>
#include <cstdio>
#include <iterator>
#include <memory>
#include <tuple>
#include <vector>

#include <nlohmann/json.hpp>

#define NCURSES_NOMACROS  // its macros are called as functions are
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
  for (int row = 0; row < LINES - 1 && first + row < static_cast<int>(lines.size()); ++row)
    draw(lines[static_cast<std::size_t>(first + row)], row);
  draw({ViewPart{"q ends, arrows move, p pauses and resumes placing", true, {}}}, LINES - 1);
  refresh();
}

}  // namespace

Status show_top(const std::string& socket, double seconds) {
  auto client = placement::DaemonClient::connect(socket);
  if (!client) return std::unexpected(client.error());
  std::setlocale(LC_CTYPE, "");  // NOLINT(concurrency-mt-unsafe): before anything else
  const std::unique_ptr<SCREEN, EndScreen> screen(newterm(nullptr, stdout, stdin));
  if (!screen) return usage_error("this terminal cannot be drawn on; see millrace top --once");
  cbreak();
  noecho();
  curs_set(0);
  keypad(stdscr, TRUE);
  begin_colours();
  timeout(static_cast<int>(seconds * 1000));
  int first = 0;
  while (true) {
    const auto status = client->ask("Status", {{"threads", true}});
    if (!status) return std::unexpected(status.error());
    const auto lines = placement::top_view(*status, static_cast<std::size_t>(std::max(COLS - 1, 1)));
    first = std::clamp(first, 0, std::max(0, static_cast<int>(lines.size()) - 2));
    draw(lines, first);
    switch (getch()) {
    case 'q':
    case 'Q':
      return {};
    case KEY_DOWN:
      ++first;
      break;
    case KEY_UP:
      --first;
      break;
    case KEY_NPAGE:
      first += std::max(LINES - 2, 1);
      break;
    case KEY_PPAGE:
      first -= std::max(LINES - 2, 1);
      break;
    case 'p': {
      const bool paused = status->contains("daemon") && (*status)["daemon"].value("paused", false);
      // Refused to who may not: nothing changes then.
      std::ignore = client->ask("Pause", {{"resume", paused}});
      break;
    }
    default:
      break;
    }
  }
}

}  // namespace millrace::cli
