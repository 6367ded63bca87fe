// A head whose only node misbehaves.
#include "millrace/base/socket/line_channel.h"
#include "millrace/base/testing/temporary_folder_testing.h"
#include "millrace/cluster/live_split/outgoing_link.h"
#include "millrace/cluster/live_split/split_head.h"
#include "millrace/version.h"

#include <fcntl.h>
#include <future>
#include <memory>
#include <optional>
#include <poll.h>
#include <string>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

namespace millrace::cluster {
namespace {

// The node's side of the conversation.
class Impostor {
 public:
  explicit Impostor(const Endpoint& head) : channel_(*begin_to_connect(head)) {
    channel_.send_json({{"hello", split_protocol},
                        {"version", split_protocol_version},
                        {"millrace", MILLRACE_VERSION},
                        {"token", "secret"},
                        {"threads", 1}});
  }
  void say(const Message& message) { channel_.send_json(message); }
  // The first message with that word. A null message if the head has gone.
  [[nodiscard]] Message heard(const std::string& word) {
    while (true) {
      const bool there = channel_.move();
      while (const auto line = channel_.next_line())
        if (Message message = parse_message(*line); message.value("say", "") == word) return message;
      if (!there) return {};
      pollfd waited{channel_.descriptor(), channel_.events(), 0};
      poll(&waited, 1, -1);
    }
  }

 private:
  LineChannel channel_;
};

TEST(SplitHead, RefusesFramesThatTheInputHasNotGivenYet) {
  const TemporaryFolder folder;
  const std::string input = folder / "input.y4m";
  ASSERT_EQ(mkfifo(input.c_str(), 0600), 0);
  SplitOptions options;
  options.run.pipeline = "blur";
  options.run.input = input;
  options.run.output = folder / "out.y4m";
  options.host = "127.0.0.1";
  options.job = "job";
  options.token = "secret";
  options.link_bytes = 1e9;
  Descriptor listener = *listen_at_endpoint({"127.0.0.1", 0});
  const Endpoint at = own_end(listener.get());
  SplitRecord record;
  auto outcome =
      std::async(std::launch::async, [&] { return run_split(std::move(listener), options, record); });

  // A header without any frame.
  const auto writer = Descriptor::owned(open(input.c_str(), O_WRONLY | O_CLOEXEC));
  const std::string header = "YUV4MPEG2 W64 H48 F25:1 Ip A1:1 C420jpeg\n";
  ASSERT_EQ(write(writer.get(), header.data(), header.size()), std::ssize(header));
  Impostor node(at);
  const Message measure = node.heard("measure");
  ASSERT_FALSE(measure.is_null());
  node.say({{"say", "measured"}, {"seconds", std::vector<double>(measure.at("sections").size(), 0.001)}});
  const Message section = node.heard("section");
  ASSERT_FALSE(section.is_null());
  const Assignment work = assignment_from(section);
  const auto link = OutgoingLink::open({.address = {"127.0.0.1", 0},
                                        .job = "job",
                                        .token = "secret",
                                        .place = work.end,
                                        .format = work.output,
                                        .first = work.start});
  ASSERT_TRUE(link) << link.error().message;
  ASSERT_TRUE((*link)->put(video::Frame(work.output)));
  node.say({{"say", "serving"}, {"port", (*link)->port()}});

  const Status ended = outcome.get();
  ASSERT_FALSE(ended);
  EXPECT_THAT(ended.error().message, testing::HasSubstr("sends frame 0, which"));
}

}  // namespace
}  // namespace millrace::cluster
