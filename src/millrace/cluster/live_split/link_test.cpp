// Frames over links between two ends on this machine, one of which is sometimes lost.
#include "millrace/base/testing/eventually_testing.h"
#include "millrace/base/testing/thread_sleeps_testing.h"
#include "millrace/cluster/live_split/incoming_link.h"
#include "millrace/cluster/live_split/link_words.h"
#include "millrace/cluster/live_split/outgoing_link.h"

#include <atomic>
#include <chrono>
#include <cstring>
#include <future>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <sys/socket.h>

namespace millrace::cluster {
namespace {

const video::FrameFormat small = {.width = 6, .height = 4, .chroma = video::Chroma::gray};

video::Frame frame_of(int value) {
  video::Frame frame(small);
  const video::PlaneView plane = frame.plane(0);
  for (int y = 0; y < plane.height; ++y)
    std::memset(plane.row<std::uint8_t>(y), value, static_cast<std::size_t>(plane.width));
  return frame;
}

int value_of(const video::Frame& frame) { return frame.plane(0).row<std::uint8_t>(3)[5]; }

std::unique_ptr<OutgoingLink> listening(std::int64_t first = 0, std::int64_t window = 8,
                                        std::int64_t guest_patience_ns = 5'000'000'000) {
  auto link = OutgoingLink::open({.address = {"127.0.0.1", 0},
                                  .job = "job",
                                  .token = "secret",
                                  .place = 2,
                                  .format = small,
                                  .first = first,
                                  .window = window,
                                  .guest_patience_ns = guest_patience_ns});
  EXPECT_TRUE(link) << link.error().message;
  return *std::move(link);
}

IncomingLink::Options asking(std::int64_t first = 0, const char* token = "secret", int place = 2) {
  IncomingLink::Options options;
  options.job = "job";
  options.token = token;
  options.place = place;
  options.format = small;
  options.first = first;
  return options;
}

Endpoint place_of(const OutgoingLink& link) { return {"127.0.0.1", link.port()}; }

TEST(Link, FramesComeOnceAndInOrder) {
  const auto out = listening();
  IncomingLink in(asking());
  in.set_producer(place_of(*out));
  std::jthread producer([&] {
    for (int i = 0; i < 200; ++i)
      EXPECT_TRUE(out->put(frame_of(i)));
  });
  for (int i = 0; i < 200; ++i) {
    const auto frame = in.next();
    ASSERT_TRUE(frame && *frame);
    EXPECT_EQ((*frame)->index, i);
    EXPECT_EQ(value_of(**frame), i);
    out->release(i + 1);
  }
  in.end_at(200);
  const auto end = in.next();
  ASSERT_TRUE(end);
  EXPECT_FALSE(*end);
}

TEST(Link, WhoPutsWaitsForWhoReleases) {
  const auto out = listening(0, 3);
  std::atomic<int> put = 0;
  std::atomic<pid_t> producing = 0;
  std::jthread producer([&] {
    producing = gettid();
    while (out->put(frame_of(put)))
      ++put;
  });
  IncomingLink in(asking());
  in.set_producer(place_of(*out));
  for (int i = 0; i < 3; ++i)
    ASSERT_TRUE(in.next());
  // All three were received, and none was released.
  EXPECT_TRUE(eventually([&] { return put == 3; }));
  EXPECT_TRUE(come_to_rest([&](pid_t thread, const ThreadSleeps&) { return thread == producing; }));
  EXPECT_EQ(put, 3);
  out->release(2);
  ASSERT_TRUE(in.next());
  ASSERT_TRUE(in.next());
  out->cancel();
  producer.join();
  EXPECT_EQ(put, 5);
}

TEST(Link, AnotherConsumerHasTheFramesThatWereNotReleased) {
  const auto out = listening();
  for (int i = 0; i < 6; ++i)
    ASSERT_TRUE(out->put(frame_of(i)));
  {
    IncomingLink lost(asking());
    lost.set_producer(place_of(*out));
    for (int i = 0; i < 5; ++i)
      ASSERT_EQ(value_of(**lost.next()), i);
  }
  out->release(2);
  IncomingLink next(asking(2));
  next.set_producer(place_of(*out));
  for (int i = 2; i < 6; ++i)
    EXPECT_EQ(value_of(**next.next()), i);
}

TEST(Link, TheLastConsumerIsTheOneThatCounts) {
  const auto out = listening();
  for (int i = 0; i < 3; ++i)
    ASSERT_TRUE(out->put(frame_of(i)));
  IncomingLink hung(asking());
  hung.set_producer(place_of(*out));
  ASSERT_EQ(value_of(**hung.next()), 0);  // and it reads no more
  IncomingLink other(asking());
  other.set_producer(place_of(*out));
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(value_of(**other.next()), i);
}

TEST(Link, GoesOnWithAnotherProducerFromTheFrameThatIsDue) {
  auto first = listening();
  for (int i = 0; i < 4; ++i)
    ASSERT_TRUE(first->put(frame_of(i)));
  IncomingLink in(asking());
  in.set_producer(place_of(*first));
  for (int i = 0; i < 3; ++i)
    ASSERT_EQ(value_of(**in.next()), i);
  first.reset();
  // It begins earlier, at the first frame that was not yet written.
  const auto second = listening(1);
  for (int i = 1; i < 6; ++i)
    ASSERT_TRUE(second->put(frame_of(i)));
  in.set_producer(place_of(*second));
  auto rest = std::async(std::launch::async, [&] {
    std::vector<int> values;
    for (int i = 0; i < 3; ++i)
      values.push_back(value_of(**in.next()));
    return values;
  });
  const std::vector<int> values = rest.get();
  // Frame 3 may have been in transit before the first was lost.
  EXPECT_EQ(values, (std::vector<int>{3, 4, 5}));
}

TEST(Link, StrangersGetNothing) {
  const auto out = listening();
  ASSERT_TRUE(out->put(frame_of(7)));
  for (const auto& options : {asking(0, "guess"), asking(0, "secret", 1)}) {
    IncomingLink stranger(options);
    stranger.set_producer(place_of(*out));
    auto waits = std::async(std::launch::async, [&] { return stranger.next(); });
    EXPECT_EQ(waits.wait_for(std::chrono::milliseconds(100)), std::future_status::timeout);
    stranger.cancel();
    EXPECT_FALSE(waits.get());
  }
  IncomingLink in(asking());
  in.set_producer(place_of(*out));
  EXPECT_EQ(value_of(**in.next()), 7);
}

// This happens after a node takes over a section: its consumer already has most of the frames that are made
// again.
TEST(Link, FramesThatNobodyNeedsAnyMoreWhenTheyComeTakeNoRoom) {
  const auto out = listening(0, 4);
  IncomingLink in(asking(7));
  in.set_producer(place_of(*out));
  out->release(6);
  auto all_put = std::async(std::launch::async, [&] {
    for (int i = 0; i < 10; ++i)
      if (!out->put(frame_of(i))) return false;
    return true;
  });
  for (int i = 7; i < 10; ++i) {
    auto frame = std::async(std::launch::async, [&] { return in.next(); });
    const bool came = frame.wait_for(std::chrono::minutes(1)) == std::future_status::ready;
    EXPECT_TRUE(came) << i;
    if (!came) {
      in.cancel();
      out->cancel();
      return;
    }
    const auto got = frame.get();
    ASSERT_TRUE(got && *got);
    EXPECT_EQ(value_of(**got), i);
  }
  EXPECT_TRUE(all_put.get());
}

// Silent connections make room for later ones.
TEST(Link, StrangersWhoSayNothingKeepNobodyOut) {
  constexpr std::int64_t hour_ns = 3'600'000'000'000;
  const auto out = listening(0, 8, hour_ns);
  ASSERT_TRUE(out->put(frame_of(7)));
  std::vector<Descriptor> strangers;
  for (int i = 0; i < 300; ++i)
    strangers.push_back(*begin_to_connect(place_of(*out)));
  IncomingLink in(asking());
  in.set_producer(place_of(*out));
  auto frame = std::async(std::launch::async, [&] { return in.next(); });
  const bool came = frame.wait_for(std::chrono::minutes(1)) == std::future_status::ready;
  EXPECT_TRUE(came);
  in.cancel();
  const auto first = frame.get();
  ASSERT_TRUE(first && *first);
  EXPECT_EQ(value_of(**first), 7);
}

// Sends data other than frames to every connection.
class Talker {
 public:
  explicit Talker(std::string text)
      : text_(std::move(text)), thread_([this](const std::stop_token& stop) {
          while (!stop.stop_requested()) {
            auto guest =
                Descriptor::owned(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
            if (guest.is_open()) {
              static_cast<void>(send(guest.get(), text_.data(), text_.size(), MSG_NOSIGNAL));
              guests_.push_back(std::move(guest));
            }
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
          }
        }) {}
  [[nodiscard]] Endpoint place() const { return own_end(listener_.get()); }

 private:
  const std::string text_;
  Descriptor listener_ = *listen_at_endpoint({"127.0.0.1", 0});
  std::vector<Descriptor> guests_;
  std::jthread thread_;
};

// The producer is unreachable, silent, or sends other frames or garbage.
TEST(Link, OfAProducerThatIsOfNoUseItIsToldAndAnotherOneIsAsked) {
  video::FrameFormat other = small;
  other.width = 8;
  const Talker silent("");
  const Talker alien(link_header(other));
  const Talker endless(std::string(5000, 'x'));
  const Talker broken(link_header(small) + "FRAMF\n" + std::string(24, 'x'));
  const auto good = listening();
  ASSERT_TRUE(good->put(frame_of(7)));
  const std::vector<std::pair<Endpoint, std::string>> useless{{{"127.0.0.1", 1}, "does not answer"},
                                                              {silent.place(), "does not answer"},
                                                              {alien.place(), "W8 H4"},
                                                              {endless.place(), "xxxxx"},
                                                              {broken.place(), "frame 0 is none"}};
  std::size_t told = 0;
  IncomingLink::Options options = asking();
  options.unreachable_ns = 50'000'000;
  IncomingLink* link = nullptr;
  options.on_trouble = [&](const Endpoint& producer, const std::string& why) {
    EXPECT_EQ(producer, useless.at(told).first) << told;
    EXPECT_NE(why.find(useless.at(told).second), std::string::npos) << why;
    ++told;
    link->set_producer(told < useless.size() ? useless[told].first : place_of(*good));
  };
  IncomingLink in(options);
  link = &in;
  in.set_producer(useless.front().first);
  const auto frame = in.next();
  ASSERT_TRUE(frame && *frame);
  EXPECT_EQ(value_of(**frame), 7);
  EXPECT_EQ(told, useless.size());
}

// Connections broken at any moment lose no frame and duplicate none.
TEST(Link, LosesNothingWhateverBreaks) {
  const auto out = listening(0, 4);
  constexpr int count = 100;
  std::jthread producer([&] {
    for (int i = 0; i < count; ++i)
      if (!out->put(frame_of(i))) return;
  });
  std::int64_t next = 0;
  while (next < count) {
    IncomingLink in(asking(next));
    in.set_producer(place_of(*out));
    for (int frames = 0; frames < 7 && next < count; ++frames) {
      const auto frame = in.next();
      ASSERT_TRUE(frame && *frame);
      ASSERT_EQ(value_of(**frame), next);
      out->release(++next);
    }
  }
}

TEST(LinkRequests, ComeBackAsTheyWere) {
  const LinkRequest request{"0a", "s!cret", 3, 77};
  std::string line = to_line(request);
  ASSERT_EQ(line.back(), '\n');
  line.pop_back();
  EXPECT_EQ(parse_link_request(line), request);
  for (const char* text : {"", "GET / HTTP/1.1", "millrace-link-1 a b 1 c", "millrace-link-1 a 1 -1 c",
                           "millrace-link-1 a 1 1 c d", "millrace-link-2 a 1 1 c"})
    EXPECT_FALSE(parse_link_request(text)) << text;
  EXPECT_TRUE(is_same_secret("abc", "abc"));
  EXPECT_FALSE(is_same_secret("abc", "abd"));
  EXPECT_FALSE(is_same_secret("abc", "ab"));
  EXPECT_FALSE(is_same_secret("", "a"));
}

TEST(Endpoints, AreHostAndPort) {
  EXPECT_EQ(*parse_endpoint("tcp://10.0.0.1:80", "x"), (Endpoint{"10.0.0.1", 80}));
  EXPECT_EQ(*parse_endpoint("host:7272", "x"), (Endpoint{"host", 7272}));
  EXPECT_EQ(*parse_endpoint("[::1]:7272", "x"), (Endpoint{"::1", 7272}));
  EXPECT_EQ(to_string(Endpoint{"::1", 7272}), "[::1]:7272");
  for (const char* text : {"", "host", ":80", "host:", "host:99999", "host:-1", "::1:80", "host:80:"}) {
    const auto parsed = parse_endpoint(text, "--listen");
    ASSERT_FALSE(parsed) << text;
    EXPECT_EQ(parsed.error().kind, ErrorKind::usage);
  }
}

}  // namespace
}  // namespace millrace::cluster
