// A file may only open regular files in its own folder. That holds for every caller: programs, the C library
// and Python all use open_reader() and index_packets().
#include "millrace/base/descriptor/descriptor.h"
#include "millrace/video/packet_index.h"
#include "millrace/video/video_testing.h"

#include <array>
#include <filesystem>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>

namespace millrace::video {
namespace {

using namespace millrace::video::testing;
using ::testing::HasSubstr;

// The kernel completes connections, which then wait to be accepted. The server never answers.
class SilentServer {
 public:
  SilentServer()
      : socket_(Descriptor::owned(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0))) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    EXPECT_EQ(bind(socket_.get(), reinterpret_cast<const sockaddr*>(&address), size), 0);
    EXPECT_EQ(listen(socket_.get(), 16), 0);
    EXPECT_EQ(getsockname(socket_.get(), reinterpret_cast<sockaddr*>(&address), &size), 0);
    place_ = fmt::format("127.0.0.1:{}", ntohs(address.sin_port));
  }

  [[nodiscard]] const std::string& place() const { return place_; }
  [[nodiscard]] bool was_called() const {
    return Descriptor::owned(accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC)).is_open();
  }

 private:
  Descriptor socket_;
  std::string place_;
};

std::string playlist(const std::string& lines) {
  return "#EXTM3U\n#EXT-X-TARGETDURATION:2\n" + lines + "#EXT-X-ENDLIST\n";
}

// Writes a file of a random kind that names `url` and an existing file.
std::string any_file_that_names(const std::string& url, std::mt19937& random) {
  const std::string there = "#EXTINF:1,\nthere.ts\n";
  const std::array kinds{
      playlist("#EXTINF:1,\n" + url + "\n"),
      playlist(there + "#EXTINF:1,\n" + url + "\n"),
      playlist("#EXT-X-KEY:METHOD=AES-128,URI=\"" + url + "\"\n" + there),
      playlist("#EXT-X-MAP:URI=\"" + url + "\"\n" + there),
      "#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1\n" + url + "\n",
      "ffconcat version 1.0\nfile " + url + "\n",
      "<?xml version=\"1.0\"?><MPD xmlns=\"urn:mpeg:dash:schema:mpd:2011\" type=\"static\" "
      "mediaPresentationDuration=\"PT2S\"><Period><AdaptationSet mimeType=\"video/mp4\"><Representation "
      "id=\"1\" bandwidth=\"1\" width=\"64\" height=\"48\"><BaseURL>" +
          url + "</BaseURL></Representation></AdaptationSet></Period></MPD>\n"};
  return kinds.at(random() % kinds.size());
}

class NamedFilesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!have_program("ffmpeg")) GTEST_SKIP() << "no ffmpeg program";
    std::filesystem::create_directory(folder_ / "inside");
    ASSERT_TRUE(ffmpeg(fmt::format(
        "-f lavfi -i testsrc2=s=64x48:r=25:d=1 -c:v libx264 -preset ultrafast '{}'", inside("there.ts"))));
    std::filesystem::copy(inside("there.ts"), folder_ / "outside.ts");
  }

  [[nodiscard]] std::string inside(const std::string& name) const { return folder_ / ("inside/" + name); }

  std::string write(const std::string& text) {
    const std::string file = inside("named.m3u8");  // FFmpeg 7 reads playlists of no other name
    write_file(file, {text.begin(), text.end()});
    return file;
  }

  TemporaryFolder folder_;
};

TEST_F(NamedFilesTest, NoKindOfFileCallsAnybodyAndEveryRefusalIsOneLine) {
  const SilentServer server;
  std::mt19937 random(40);
  const std::array urls{"http://{}/a.ts",       "https://{}/a.ts",       "tcp://{}",
                        "rtmp://{}/a",          "rtsp://{}/a",           "ftp://{}/a.ts",
                        "crypto:http://{}",     "crypto+http://{}/a.ts", "cache:http://{}/a.ts",
                        "async:http://{}/a.ts", "httpproxy://{}/a"};
  for (int n = 0; n < 60; ++n) {
    const std::string url = fmt::format(fmt::runtime(urls.at(random() % urls.size())), server.place());
    const std::string text = any_file_that_names(url, random);
    const std::string file = write(text);
    const Delivered delivered = read_all(file);
    ASSERT_TRUE(delivered.error) << text;
    EXPECT_EQ(delivered.error->kind, ErrorKind::failure);
    EXPECT_THAT(delivered.error->message, HasSubstr(file));
    EXPECT_EQ(delivered.error->message.find('\n'), std::string::npos);
    EXPECT_FALSE(index_packets(file)) << text;
    ASSERT_FALSE(server.was_called()) << text;
  }
}

TEST_F(NamedFilesTest, OnlyRegularFilesOfTheFolderAreOpened) {
  std::filesystem::create_symlink(folder_ / "outside.ts", inside("link.ts"));
  std::filesystem::create_symlink(std::string(folder_ / "."), inside("up"));
  ASSERT_EQ(mkfifo(inside("fifo.ts").c_str(), 0600), 0);
  std::filesystem::create_directory(inside("below"));
  std::filesystem::copy(inside("there.ts"), inside("below/there.ts"));
  for (const std::string& url : {std::string("there.ts"), std::string("below/there.ts"),
                                 "file:" + inside("there.ts"), inside("there.ts")}) {
    const Delivered delivered = read_all(write(playlist("#EXTINF:1,\n" + url + "\n")));
    EXPECT_FALSE(delivered.error) << url << ": " << delivered.error->message;
    EXPECT_EQ(delivered.frames.size(), 25) << url;
  }
  for (const std::string& url :
       {std::string("../outside.ts"), folder_ / "outside.ts", "file:" + (folder_ / "outside.ts"),
        std::string("link.ts"), std::string("up/outside.ts"), std::string("fifo.ts"),
        std::string("below/../../outside.ts"), std::string("missing.ts")}) {
    const Delivered delivered = read_all(write(playlist("#EXTINF:1,\nthere.ts\n#EXTINF:1,\n" + url + "\n")));
    ASSERT_TRUE(delivered.error) << url;
    EXPECT_THAT(delivered.error->message, HasSubstr("which")) << url;
  }
}

std::string master(const std::vector<std::string>& named) {
  std::string text = "#EXTM3U\n";
  for (const std::string& each : named)
    text += "#EXT-X-STREAM-INF:BANDWIDTH=1\n" + each + "\n";
  return text;
}

TEST_F(NamedFilesTest, PlaylistsThatNameEachOtherInARingAreRefusedInOneLine) {
  for (int length = 1; length <= 4; ++length)
    for (int begin = 0; begin < 2; ++begin) {
      // The user's file is part of the ring, or names it.
      std::vector<std::string> names{"named.m3u8"};
      for (int i = 1; i < length + begin; ++i)
        names.push_back(fmt::format("{}.m3u8", i));
      for (std::size_t i = 0; i < names.size(); ++i) {
        const std::string text =
            master({names[i + 1 < names.size() ? i + 1 : static_cast<std::size_t>(begin)]});
        write_file(inside(names[i]), {text.begin(), text.end()});
      }
      const Delivered delivered = read_all(inside("named.m3u8"));
      ASSERT_TRUE(delivered.error) << length;
      EXPECT_THAT(delivered.error->message, HasSubstr("names playlists; give one"));
      EXPECT_EQ(delivered.error->message.find('\n'), std::string::npos);
    }
}

TEST_F(NamedFilesTest, PlaylistsAreLimitedInNumberAndMemory) {
  const std::string part = "#EXTINF:1,\nthere.ts\n";
  const std::string parts = playlist(part);
  write_file(inside("parts.m3u8"), {parts.begin(), parts.end()});
  const Delivered few = read_all(write(master({"parts.m3u8", "parts.m3u8", "parts.m3u8"})));
  EXPECT_FALSE(few.error) << few.error->message;
  EXPECT_EQ(few.frames.size(), 25);

  const Delivered many = read_all(write(master(std::vector<std::string>(100'000, "parts.m3u8"))));
  ASSERT_TRUE(many.error);
  EXPECT_THAT(many.error->message, HasSubstr("names 100000 playlists"));

  // FFmpeg would keep the address of the key once for each part.
  std::string long_key = "#EXT-X-KEY:METHOD=SAMPLE-AES,URI=\"" + std::string(4000, 'k') + "\"\n";
  for (int i = 0; i < 100'000; ++i)
    long_key += part;
  const std::string large = playlist(long_key);
  for (const std::string& file : {write(large), write(master({"large.m3u8"}))}) {
    write_file(inside("large.m3u8"), {large.begin(), large.end()});
    const Delivered delivered = read_all(file);
    ASSERT_TRUE(delivered.error);
    EXPECT_THAT(delivered.error->message, HasSubstr("of memory; give"));
  }
}

// A live playlist is read again after its target duration.
TEST_F(NamedFilesTest, AStopEndsTheWaitOfADemuxer) {
  const std::string file = write("#EXTM3U\n#EXT-X-TARGETDURATION:6000\n#EXTINF:1,\nthere.ts\n");
  std::stop_source stop;
  auto reader = open_reader(file, {.stop = stop.get_token()});
  ASSERT_TRUE(reader) << reader.error().message;
  std::jthread stops([&] { stop.request_stop(); });
  const Delivered delivered = read_all(**reader);
  ASSERT_TRUE(delivered.error);
  EXPECT_EQ(delivered.error->kind, ErrorKind::interrupted) << delivered.error->message;
}

}  // namespace
}  // namespace millrace::video
