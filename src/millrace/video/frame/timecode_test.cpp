// Checks timecodes by counting them one by one.
#include "millrace/video/frame/timecode.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace millrace::video {
namespace {

// Counts through a whole day by the rule of SMPTE 12M.
struct Counter {
  int rate;
  int dropped;
  int hours = 0;
  int minutes = 0;
  int seconds = 0;
  int number = 0;

  [[nodiscard]] std::string text() const {
    return fmt::format("{:02}:{:02}:{:02}{}{:02}", hours, minutes, seconds, dropped > 0 ? ';' : ':', number);
  }
  void count() {
    if (++number < rate) return;
    number = 0;
    if (++seconds < 60) return;
    seconds = 0;
    if (++minutes == 60) {
      minutes = 0;
      hours = (hours + 1) % 24;
    }
    if (minutes % 10 != 0) number = dropped;
  }
};

TEST(Timecode, OfEveryFrameOfADayIsWhatIsCounted) {
  struct Rate {
    std::int64_t numerator;
    std::int64_t denominator;
    int rate;
    int dropped;
  };
  for (const Rate& r : {Rate{25, 1, 25, 0}, Rate{24000, 1001, 24, 0}, Rate{30000, 1001, 30, 2},
                        Rate{60000, 1001, 60, 4}, Rate{30, 1, 30, 0}}) {
    Counter counter{.rate = r.rate, .dropped = r.dropped};
    const std::string first = counter.text();
    for (std::int64_t frame = 0; frame < std::int64_t{24} * 3600 * r.rate; ++frame) {
      // Tests a sample of frames, and all frames near the ends of some minutes.
      if (frame % 4999 == 0 ||
          (counter.seconds == 59 && counter.minutes % 7 == 0 && counter.hours % 8 == 0)) {
        ASSERT_EQ(timecode_after(first, frame, r.numerator, r.denominator), counter.text());
        ASSERT_EQ(timecode_after(counter.text(), -frame, r.numerator, r.denominator), first);
      }
      counter.count();
      if (frame > 0 && counter.hours + counter.minutes + counter.seconds + counter.number == 0) break;
    }
  }
}

TEST(Timecode, ThatIsNoneIsRefused) {
  for (const char* text : {"", "1", "01:00:00", "01:00:00:00:00", "25:00:00:00", "01:61:00:00", "01:00:00:25",
                           "a1:00:00:00", "01:00:00:-1", "9999:00:00:00"})
    EXPECT_EQ(timecode_after(text, 1, 25, 1), std::nullopt) << text;
  EXPECT_EQ(timecode_after("01:00:00:00", 1, 0, 1), std::nullopt);
}

}  // namespace
}  // namespace millrace::video
