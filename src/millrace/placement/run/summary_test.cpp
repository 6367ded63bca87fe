#include "millrace/base/text/printable.h"
#include "millrace/placement/run/summary.h"

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace millrace::placement {
namespace {

// Rings the bell, retitles the window, sets colours, reverses the text direction, begins lines, and is not
// UTF-8.
const std::string hostile = "\x07\x1b]0;T\x07\x1b[31mX\n\r\u202e\u2028\xff\xfe\xc2\x9b";

// True if a terminal would only display it: lines of UTF-8 without control characters.
bool is_plain(const std::string& text) {
  std::string without_ends = text;
  std::erase(without_ends, '\n');
  return printable(without_ends) == without_ends;
}

Summary with_everything(const std::string& text) {
  Summary summary;
  summary.program = text;
  summary.birth_reason = text;
  summary.policy = text;
  summary.threads.refused = 1;
  summary.threads.first_refusal = text;
  summary.threads.not_journalled = text;
  summary.threads.left_alone = {text, text + "2"};
  summary.untouched.seconds = 1;
  summary.untouched.wakers = Wakers{.by_threads = {{{text, text}, 5}}};
  summary.units.mode = UnitsMode::automatic;
  summary.units.missing = text;
  summary.units.not_placed = text;
  summary.notes = {text, text};
  return summary;
}

TEST(Summary, WhateverProgramsCallThemselvesOnlyTextReachesTheTerminal) {
  const std::string text = to_text(with_everything(hostile));
  EXPECT_TRUE(is_plain(text)) << printable(text);
  const std::string harmless = to_text(with_everything("name"));
  EXPECT_EQ(std::ranges::count(text, '\n'), std::ranges::count(harmless, '\n'));
  EXPECT_NE(text.find("X\\x0a"), std::string::npos);
}

TEST(Summary, CountsHaveTheirSingular) {
  Summary summary;
  summary.threads.births = summary.threads.processes = summary.threads.changes = 1;
  const std::string one = to_text(summary);
  EXPECT_NE(one.find("1 birth in 1 process,"), std::string::npos) << one;
  EXPECT_NE(one.find("; 1 change,"), std::string::npos) << one;
  summary.threads.births = summary.threads.processes = summary.threads.changes = 2;
  const std::string two = to_text(summary);
  EXPECT_NE(two.find("2 births in 2 processes,"), std::string::npos) << two;
  EXPECT_NE(two.find("; 2 changes,"), std::string::npos) << two;
}

TEST(Summary, WakeUpsAreComparedWithWhatTheUserGave) {
  Summary summary;
  summary.changed.wake_ups = WakeUps{1, 5, 70};
  const auto names = [&summary](const std::string& given) {
    return to_text(summary).find("under " + given + "\n") != std::string::npos;
  };
  summary.policy = "none";
  summary.scheduling_class = machine::SchedulingClass::batch;
  EXPECT_TRUE(names("class batch")) << to_text(summary);
  summary.slice_ns = 10'000'000;
  EXPECT_TRUE(names("class batch, slice 10 ms")) << to_text(summary);
  summary.policy = "llc";
  EXPECT_TRUE(names("policy llc, class batch, slice 10 ms")) << to_text(summary);
  summary.scheduling_class.reset();
  summary.slice_ns.reset();
  EXPECT_TRUE(names("policy llc")) << to_text(summary);
}

TEST(Summary, NothingIsToldOfAProgramThatNeverBegan) {
  Summary summary = with_everything("name");
  summary.began = false;
  EXPECT_EQ(to_text(summary), "");
}

}  // namespace
}  // namespace millrace::placement
