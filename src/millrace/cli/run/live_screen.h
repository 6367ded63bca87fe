// LiveScreen: shows a run on the whole terminal.
#pragma once

#include "millrace/base/error/result.h"
#include "millrace/report/run/live_view.h"

#include <array>
#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <memory>
#include <mutex>
#include <thread>

struct screen;  // of ncurses

namespace millrace::cli {

// Uses the terminal of standard error, independent of standard input and output. A separate thread draws, so
// that the view follows changes of the terminal's size even if a frame takes long. One instance per process
// at a time.
class LiveScreen {
 public:
  // Usage error if standard error is not a terminal, or one without cursor positioning.
  [[nodiscard]] static Result<std::unique_ptr<LiveScreen>> open();
  // Restores the terminal.
  ~LiveScreen();
  LiveScreen(const LiveScreen&) = delete;
  LiveScreen& operator=(const LiveScreen&) = delete;

  // Displays this state soon. Any thread.
  void show(report::LiveRun run);

 private:
  struct Close {
    void operator()(std::FILE* file) const { static_cast<void>(std::fclose(file)); }
  };
  // Signals for which ncurses installs handlers, if there are none, without restoring them.
  static constexpr std::array taken_signals = {SIGINT, SIGTERM, SIGTSTP, SIGWINCH};

  LiveScreen() = default;
  void draw_until(const std::stop_token& end);
  void draw(const report::LiveRun& run);

  std::unique_ptr<std::FILE, Close> output_;
  std::unique_ptr<std::FILE, Close> input_;
  std::array<struct sigaction, taken_signals.size()> before_{};
  screen* screen_ = nullptr;
  std::mutex mutex_;  // guards the next two members
  std::condition_variable_any changed_;
  report::LiveRun run_;
  std::jthread painter_;
};

}  // namespace millrace::cli
