// LiveScreen: the whole terminal as a view of a run.
#pragma once

#include "millrace/base/result.h"
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

// On the terminal of standard error, whatever standard input and output are. A thread of its own draws, so
// that the view follows the terminal's size also while a frame takes long. One at a time in a process.
class LiveScreen {
 public:
  // Usage error where standard error is no terminal, or one that text cannot be placed on.
  [[nodiscard]] static Result<std::unique_ptr<LiveScreen>> open();
  // The terminal is as it was before.
  ~LiveScreen();
  LiveScreen(const LiveScreen&) = delete;
  LiveScreen& operator=(const LiveScreen&) = delete;

  // Is drawn soon. Any thread.
  void show(report::LiveRun run);

 private:
  struct Close {
    void operator()(std::FILE* file) const { static_cast<void>(std::fclose(file)); }
  };
  // What ncurses takes over where nobody else has, and does not give back.
  static constexpr std::array taken_signals = {SIGINT, SIGTERM, SIGTSTP, SIGWINCH};

  LiveScreen() = default;
  void draw_until(const std::stop_token& end);
  void draw(const report::LiveRun& run);

  std::unique_ptr<std::FILE, Close> output_;
  std::unique_ptr<std::FILE, Close> input_;
  std::array<struct sigaction, taken_signals.size()> before_{};
  screen* screen_ = nullptr;
  std::mutex mutex_;  // of the next two
  std::condition_variable_any changed_;
  report::LiveRun run_;
  std::jthread painter_;
};

}  // namespace millrace::cli
