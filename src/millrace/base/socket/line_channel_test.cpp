#include "millrace/base/socket/line_channel.h"
#include "millrace/base/testing/passed_descriptors_testing.h"

#include <array>
#include <fcntl.h>
#include <poll.h>
#include <string>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>
#include <sys/socket.h>

namespace millrace {
namespace {

constexpr LineLimits few{.line_bytes = 100, .unsent_bytes = 1000};

// A channel and the other program's end of the connection.
class Talk {
 public:
  LineChannel& channel() { return channel_; }
  [[nodiscard]] int other() const { return other_.get(); }
  void say(std::string_view text) const {
    EXPECT_EQ(::send(other_.get(), text.data(), text.size(), MSG_NOSIGNAL), std::ssize(text));
  }
  [[nodiscard]] std::string heard() const {
    std::array<char, 65536> text;
    const ssize_t size = recv(other_.get(), text.data(), text.size(), MSG_DONTWAIT);
    return {text.data(), size > 0 ? static_cast<std::size_t>(size) : 0};
  }
  void hang_up() { other_.close(); }
  std::vector<std::string> take_all() {
    std::vector<std::string> lines;
    while (auto line = channel_.next_line())
      lines.push_back(std::move(*line));
    return lines;
  }

 private:
  static std::array<int, 2> pair() {
    std::array<int, 2> ends{};
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
    return ends;
  }
  std::array<int, 2> ends_ = pair();
  Descriptor other_ = Descriptor::owned(ends_[0]);
  LineChannel channel_{Descriptor::owned(ends_[1]), few};
};

TEST(LineChannel, LinesAreTheSameHoweverTheirBytesArrive) {
  const std::string longest(few.line_bytes, 'x');
  const std::string text = "one\n\ntwo words\n" + longest + "\nrest";
  for (const std::size_t step : {std::size_t{1}, std::size_t{7}, std::size_t{64}, text.size()}) {
    Talk talk;
    std::vector<std::string> taken;
    for (std::size_t at = 0; at < text.size(); at += step) {
      talk.say(std::string_view(text).substr(at, step));
      EXPECT_TRUE(talk.channel().move()) << step;
      for (std::string& line : talk.take_all())
        taken.push_back(std::move(line));
    }
    EXPECT_EQ(taken, (std::vector<std::string>{"one", "", "two words", longest})) << step;
    EXPECT_TRUE(talk.channel().has_unread());
    talk.say("\n");
    EXPECT_TRUE(talk.channel().move());
    EXPECT_EQ(talk.take_all(), std::vector<std::string>{"rest"});
    EXPECT_FALSE(talk.channel().has_unread());
  }
}

TEST(LineChannel, EndsAtALineThatIsTooLong) {
  const std::string too_long(few.line_bytes + 1, 'x');
  for (const std::string& rest : {too_long, too_long + "\n", too_long + "\nmore\n"}) {
    Talk talk;
    talk.say("fine\n" + rest);
    EXPECT_TRUE(talk.channel().move());
    EXPECT_EQ(talk.take_all(), std::vector<std::string>{"fine"});
    EXPECT_TRUE(talk.channel().has_ended());
    EXPECT_FALSE(talk.channel().move());
  }
}

TEST(LineChannel, ReceivesNoMoreOfAFloodUntilItsLinesAreTaken) {
  Talk talk;
  std::size_t sent = 0;
  const std::string flood(50'000, '\n');
  for (ssize_t size = 0; size >= 0; size = send(talk.other(), flood.data(), flood.size(), MSG_DONTWAIT))
    sent += static_cast<std::size_t>(size);
  std::size_t taken = 0;
  while (taken < sent) {
    EXPECT_TRUE(talk.channel().move());
    EXPECT_TRUE(talk.channel().move());
    const std::size_t lines = talk.take_all().size();
    ASSERT_GT(lines, 0U);
    EXPECT_LE(lines, 16384U);
    taken += lines;
  }
  EXPECT_EQ(taken, sent);
}

TEST(LineChannel, LastLinesAreTakenAndAnsweredAfterTheOtherProgramHasSentAll) {
  Talk talk;
  talk.say("question\nhalf a li");
  shutdown(talk.other(), SHUT_WR);
  EXPECT_TRUE(talk.channel().move());
  EXPECT_TRUE(talk.channel().move()) << "there is a line to take";
  EXPECT_EQ(talk.take_all(), std::vector<std::string>{"question"});
  EXPECT_FALSE(talk.channel().move());
  EXPECT_TRUE(talk.channel().has_ended());
  talk.channel().send("answer");
  EXPECT_TRUE(talk.channel().all_sent());
  EXPECT_EQ(talk.heard(), "answer\n");
}

TEST(LineChannel, SendsLaterWhatTheOtherProgramDoesNotReadYet) {
  Talk talk;
  const std::string line(few.unsent_bytes / 2, 'y');
  std::size_t sent = 0;
  for (; talk.channel().all_sent(); sent += line.size() + 1)
    talk.channel().send(line);
  EXPECT_EQ(talk.channel().events(), POLLIN | POLLOUT);
  std::size_t arrived = 0;
  while (arrived < sent) {
    arrived += talk.heard().size();
    EXPECT_TRUE(talk.channel().move());
  }
  EXPECT_EQ(arrived, sent);
  EXPECT_TRUE(talk.channel().all_sent());
  EXPECT_EQ(talk.channel().events(), POLLIN);
}

TEST(LineChannel, EndsIfTheOtherProgramReadsTooLittle) {
  Talk talk;
  talk.say("question\n");
  talk.channel().receive();
  const std::string line(few.unsent_bytes / 2, 'y');
  for (int i = 0; i < 100'000 && !talk.channel().has_ended(); ++i)
    talk.channel().send(line);
  EXPECT_TRUE(talk.channel().has_ended());
  EXPECT_FALSE(talk.channel().has_line()) << "nothing of it is served";
  EXPECT_FALSE(talk.channel().move());
}

TEST(LineChannel, EndsWhenTheOtherProgramHasGone) {
  Talk silent;
  silent.hang_up();
  EXPECT_FALSE(silent.channel().move());
  Talk talk;
  talk.say("last words\n");
  talk.channel().receive();
  talk.hang_up();
  talk.channel().send("anybody?");
  EXPECT_TRUE(talk.channel().all_sent()) << "there is nothing to wait for";
  EXPECT_TRUE(talk.channel().move());
  EXPECT_EQ(talk.take_all(), std::vector<std::string>{"last words"});
  EXPECT_FALSE(talk.channel().move());
}

void pass(int to, std::size_t count) {
  const auto file = Descriptor::owned(open("/dev/null", O_RDONLY | O_CLOEXEC));
  send_descriptors(to, "a\n", file.get(), count);
}

int lowest_free_descriptor() {
  const int number = dup(0);
  close(number);
  return number;
}

TEST(LineChannel, KeepsNoDescriptorOpenThatItDoesNotHandOver) {
  Talk talk;
  const int before = lowest_free_descriptor();
  for (const std::size_t count : {0U, 1U, 2U, 3U, 100U}) {
    std::vector<Descriptor> passed;
    if (count == 0)
      talk.say("a\n");
    else
      pass(talk.other(), count);
    talk.channel().receive(&passed);
    EXPECT_EQ(passed.size() == 1, count == 1) << "it is clear which one is meant";
    EXPECT_EQ(passed.empty(), count == 0);
    EXPECT_EQ(talk.take_all(), std::vector<std::string>{"a"});
    passed.clear();
    EXPECT_EQ(lowest_free_descriptor(), before) << count;
    if (count > 0) pass(talk.other(), count);
    talk.channel().receive();
    EXPECT_EQ(talk.take_all().size(), count > 0 ? 1U : 0U);
    EXPECT_EQ(lowest_free_descriptor(), before) << count;
  }
}

}  // namespace
}  // namespace millrace
