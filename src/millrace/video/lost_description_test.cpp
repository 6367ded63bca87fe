// Everything that describes the input is in the output too, or is named as not kept.
#include "millrace/video/video_testing.h"

#include <algorithm>
#include <cctype>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace::video {
namespace {

using namespace millrace::video::testing;

// What ffprobe says of tags, dispositions, chapters and attachments, one a line: "tag title", "comment".
std::vector<std::string> description(const std::string& path) {
  std::istringstream lines(output_of(
      "ffprobe -v error -show_entries "
      "format_tags:stream_tags:stream_disposition:stream=codec_type:chapter_tags:chapter=id -of flat '" +
      path + "'"));
  std::vector<std::string> words;
  for (std::string line; std::getline(lines, line);) {
    std::ranges::transform(line, line.begin(), [](unsigned char each) { return std::tolower(each); });
    const std::size_t value = line.find('=');
    const std::size_t tag = line.find(".tags.");
    const std::size_t disposition = line.find(".disposition.");
    if (tag < value)
      words.push_back(line.substr(tag + 6, value - tag - 6));
    else if (disposition < value && line.ends_with("=1"))
      words.push_back(line.substr(disposition + 13, value - disposition - 13));
    else if (line.ends_with("\"attachment\""))
      words.emplace_back("attachment");
    else if (line.starts_with("chapters.chapter") && line.find(".id=") != std::string::npos)
      words.emplace_back("chapter");
  }
  // These say how the file is stored, or are given to every file.
  for (const char* each :
       {"major_brand", "minor_version", "compatible_brands", "encoder", "handler_name", "vendor_id",
        "duration", "language", "creation_time", "default", "mimetype", "filename"})
    std::erase(words, each);
  return words;
}

class LostDescription : public ::testing::TestWithParam<std::tuple<const char*, const char*>> {};

TEST_P(LostDescription, IsNamedAndTheRestIsKept) {
  if (!have_program("ffmpeg")) GTEST_SKIP() << "no ffmpeg program";
  const auto& [input, output] = GetParam();
  TemporaryFolder folder;
  write_file(folder / "f.ttf", {'f', 'o', 'n', 't'});
  const std::string chapters =
      ";FFMETADATA1\n[CHAPTER]\nTIMEBASE=1/10\nSTART=0\nEND=4\ntitle=One\nmood=glad\n";
  write_file(folder / "c.txt", {chapters.begin(), chapters.end()});
  const bool matroska = std::string_view(input) == "in.mkv";
  const std::string in = folder / input;
  ASSERT_TRUE(ffmpeg(
      "-f lavfi -i testsrc2=s=32x32:r=25:d=1 -f lavfi -i sine=d=1 -i '" + (folder / "c.txt") +
      "' -map 0 -map 1 -map 1 -map_chapters 2 -c:v libx264 -preset ultrafast -c:a " +
      (matroska ? "libopus " : "aac ") +
      "-metadata title=T -metadata com.apple.quicktime.make=M -metadata foo=bar "
      "-metadata:s:a:0 free=a -disposition:a:0 comment+hearing_impaired -disposition:a:1 dub -disposition:v "
      "original " +
      (matroska ? "-attach '" + (folder / "f.ttf") + "' -metadata:s:t mimetype=font/ttf "
                : std::string("-movflags use_metadata_tags ")) +
      "'" + in + "'"));
  const auto side = make_side_streams(true);
  auto reader = open_reader(in, {.side_streams = side});
  ASSERT_TRUE(reader) << reader.error().message;
  auto writer = open_writer(folder / output, (*reader)->format(), {.side_streams = side});
  ASSERT_TRUE(writer) << writer.error().message;
  const Delivered delivered = read_all(**reader);
  for (const Frame& frame : delivered.frames)
    ASSERT_TRUE((*writer)->write(frame));
  ASSERT_TRUE((*writer)->finish());

  std::string named;
  for (const std::string& each : (*writer)->not_kept())
    named += each + "\n";
  std::ranges::transform(named, named.begin(), [](unsigned char each) { return std::tolower(each); });
  std::ranges::replace(named, '.', '_');  // as in ffprobe's keys
  std::vector<std::string> there = description(folder / output);
  const std::vector<std::string> wanted = description(in);
  EXPECT_GT(wanted.size(), 3U);
  // A stream that is not kept takes along what describes it.
  const bool sound_is_kept = ("\n" + named).find("\nstream 1 (audio") == std::string::npos;
  const std::vector<std::string> of_sound{"free", "comment", "hearing_impaired", "captions", "dub"};
  for (const std::string& each : wanted) {
    if (!sound_is_kept && std::ranges::find(of_sound, each) != of_sound.end()) continue;
    const auto kept = std::ranges::find(there, each);
    if (kept != there.end())
      there.erase(kept);
    else
      EXPECT_THAT(named, ::testing::HasSubstr(each));
  }
}

INSTANTIATE_TEST_SUITE_P(Files, LostDescription,
                         ::testing::Combine(::testing::Values("in.mkv", "in.mov", "in.mp4"),
                                            ::testing::Values("out.mkv", "out.webm", "out.mp4", "out.mov")),
                         [](const auto& test) {
                           return fmt::format("{}_to_{}", std::string(std::get<0>(test.param)).substr(3),
                                              std::string(std::get<1>(test.param)).substr(4));
                         });

}  // namespace
}  // namespace millrace::video
