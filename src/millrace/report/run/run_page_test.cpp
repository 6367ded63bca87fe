#include "millrace/base/testing/release_only_testing.h"
#include "millrace/report/run/run_page.h"
#include "millrace/report/run/run_plots.h"
#include "millrace/report/run/structure_picture.h"

#include <algorithm>
#include <functional>
#include <map>
#include <random>
#include <set>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace::report {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

std::vector<Box> some_boxes(unsigned seed) {
  std::mt19937 random(seed);
  const auto up_to = [&](int most) { return std::uniform_int_distribution<int>(0, most)(random); };
  std::vector<Box> boxes;
  for (int i = up_to(12); i >= 0; --i) {
    const int x = up_to(20);
    const int y = up_to(20);
    boxes.push_back({x, y, x + 1 + up_to(9), y + 1 + up_to(9)});
  }
  return boxes;
}

// For each pixel, the number of boxes that contain it.
std::map<std::pair<int, int>, int> counts(const std::vector<Box>& boxes) {
  std::map<std::pair<int, int>, int> pixels;
  for (const Box& box : boxes)
    for (int y = box.y0; y < box.y1; ++y)
      for (int x = box.x0; x < box.x1; ++x)
        ++pixels[{x, y}];
  return pixels;
}

class Boxes : public testing::TestWithParam<unsigned> {};

TEST_P(Boxes, OverlapIsWhatLiesInMoreThanOneOfThem) {
  const auto boxes = some_boxes(GetParam());
  std::set<std::pair<int, int>> expected;
  double covered = 0;
  double computed = 0;
  for (const auto& [pixel, count] : counts(boxes)) {
    if (count > 1) expected.insert(pixel);
    ++covered;
    computed += count;
  }
  std::set<std::pair<int, int>> found;
  for (const auto& [pixel, count] : counts(overlap_of(boxes))) {
    EXPECT_EQ(count, 1) << "boxes of the overlap overlap";
    found.insert(pixel);
  }
  EXPECT_EQ(found, expected);
  EXPECT_EQ(coverage_of(boxes).covered, covered);
  EXPECT_EQ(coverage_of(boxes).computed, computed);
}

TEST_P(Boxes, MergingKeepsWhatTheyCover) {
  // Rows of tiles in the order in which a worker computes them.
  std::vector<Box> tiles;
  for (int y = 0; y < 8; ++y)
    for (int x = 0; x < 16; ++x)
      tiles.push_back({10 * x, 4 * y, 10 * x + 10, 4 * y + 4});
  const auto fewer = merged(tiles, GetParam() + 1);
  EXPECT_LT(fewer.size(), tiles.size());
  EXPECT_EQ(counts(fewer), counts(tiles));
}

INSTANTIATE_TEST_SUITE_P(Seeds, Boxes, testing::Range(0U, 20U));

json record() {
  return json::parse(R"json({"pipeline": "blur | threshold(0.1)", "input": "a.mp4", "output": "b.mkv",
    "command": ["millrace", "run", "blur | threshold(0.1)", "it's a.mp4"],
    "graph": [{"name": "blur", "inputs": [-1]}, {"name": "threshold", "inputs": [0]}],
    "input_format": "64x48 4:2:0 8 bit", "output_format": "64x48 4:2:0 8 bit", "frames": 100, "wall_seconds": 2.0,
    "compute_seconds": 0.4, "input_wait_seconds": 0.2, "output_wait_seconds": 1.3, "fps": 50.0,
    "schedule": {"structure": "tiled", "fusion": "none", "tile": "32x16", "threads": 2, "frames_in_flight": 1,
                 "affinity": "free", "isa": "avx2"},
    "stages": [{"stages": "load8", "plane": 0, "cpu_ms_per_frame": 0.5, "pixels_computed": 330, "pixels_required": 300},
               {"stages": "blur", "plane": 0, "cpu_ms_per_frame": 1.25, "pixels_computed": 303, "pixels_required": 300},
               {"stages": "threshold+store8", "plane": 0, "cpu_ms_per_frame": null, "pixels_computed": 300,
                "pixels_required": 300}],
    "decisions": {"trials": 2, "from_profile": false, "why": "tiled runs", "starts_at_seconds": 0.25,
      "seconds_lost_to_trials": 0.01, "events": [
      {"event": "started", "time": 0, "candidate": "structure=sequential,fusion=none,threads=2,isa=avx2"},
      {"event": "trial", "time": 0.5, "candidate": "structure=tiled,fusion=none,tile_width=32,tile_height=16,threads=2,isa=avx2",
       "against": "structure=sequential,fusion=none,threads=2,isa=avx2", "frames": 9, "ratio": 0.8, "low": 0.75,
       "high": 0.85, "chosen": "promised most", "verdict": "is better"},
      {"event": "incumbent", "time": 0.5, "candidate": "structure=tiled,fusion=none,tile_width=32,tile_height=16,threads=2,isa=avx2",
       "against": "structure=sequential,fusion=none,threads=2,isa=avx2", "frames": 9, "ratio": 0.8, "low": 0.75,
       "high": 0.85, "chosen": "promised most", "verdict": "is better"}]},
    "frame_times": {"at_seconds": [0.5, 1.0, 2.0], "frames": [25, 25, 50], "computing_ms": [5, 4, 4],
                    "input_wait_ms": [1, 1, 1], "output_wait_ms": [2, 2, 2], "slowest_ms": [9, 5, 5]},
    "recorded_frames": [{"frame": 7, "schedule": "tiled 32x16, fusion none, 2 threads, avx2", "structure": "tiled",
      "threads": 2, "calls_left_out": 0, "groups": [{"stages": "blur", "plane": 0, "width": 64, "height": 48}],
      "calls": ["0 0 0 0 64 25 0.0 10.5", "1 0 0 23 64 48 1.0 12.0"], "other_planes": ["1 1 12.0 13.0"]}],
    "machine": {
  "kernel" : "Linux 6",
             "topology" : {
               "packages" : [ {"model" : "A <processor>"} ],
               "cores" : [ "0", "1" ],
               "caches" : [ {"level" : 1, "type" : "data", "size_bytes" : 32768} ]
             },
                          "trust" : {
    "sentences" : []
  }}})json");
}

RunDocument document(const json& of = record()) {
  auto read = read_run_document(of, "a.json");
  EXPECT_TRUE(read) << read.error().message;
  return read ? *std::move(read) : RunDocument();
}

// The record already has a verdict from the same times. The page says the same.
TEST(RunPage, SaysOfTheRunWhatItsRecordSays) {
  for (const auto& [bound, words] : {std::pair{"input", "decoding bound it"},
                                     {"filters", "The filters bound it"},
                                     {"output", "writing bound it"},
                                     {"none", "Nothing took most of its time"}}) {
    json json = record();
    json["bound_by"] = bound;
    EXPECT_THAT(verdict_of(document(json)), HasSubstr(words)) << bound;
  }
}

TEST(RunPage, TellsKernelTimeFromComputingAndFromWaitingForCpus) {
  json json = record();
  json["codec"] = "h264";
  json["output_bytes"] = 1'234'567;
  json["cpu_use"] = {
      {"workers_ran_seconds", 1.0}, {"workers_waited_seconds", 3.0}, {"process_seconds", 1.0}, {"cpus", 2}};
  const std::string page = run_page(document(json));
  // 4 ms of computing; 1.75 ms of kernels on two workers.
  EXPECT_THAT(page, HasSubstr("A frame took 4 ms of computing by the clock. Kernels ran for 0.875 ms of it "
                              "on each of 2 workers"));
  EXPECT_THAT(page, HasSubstr("for a CPU (75 % of the time that they had work)"));
  EXPECT_THAT(page, HasSubstr("The output: h264, 1.2 MB"));
  json.erase("cpu_use");
  EXPECT_THAT(run_page(document(json)), Not(HasSubstr("for a CPU")));
}

TEST(RunPage, SaysWhatBoundTheRunAndWhatTheSearchGained) {
  const std::string verdict = verdict_of(document());
  EXPECT_THAT(verdict, HasSubstr("100 frames of 64x48 4:2:0 8 bit in 2 s: 50 frames a second"));
  EXPECT_THAT(verdict, HasSubstr("writing bound it"));
  EXPECT_THAT(verdict, HasSubstr("65 % it waited for its output"));
  EXPECT_THAT(verdict, HasSubstr("1.25 times as fast"));
}

TEST(RunPage, HasEverySectionThatTheRecordTellsOf) {
  const std::string page = run_page(document());
  for (const char* each :
       {"The pipeline", "What was tried", "Over time", "How frames were divided", "1.042 times the pixels",
        "A &lt;processor&gt;", "'it'\\''s a.mp4'", "new uPlot", "--structure tiled --tile 32x16",
        "from 0.50 s: tiled 32x16, fusion none, 2 threads, avx2"})
    EXPECT_THAT(page, HasSubstr(each));
  EXPECT_THAT(page, Not(HasSubstr("src=\"http")));
  EXPECT_THAT(page, Not(HasSubstr("<link")));
}

// yuv2rgb consists of many stages with other names. If one is fused with others, it gets their time.
TEST(RunPage, GivesAFilterTheTimeOfAllItsParts) {
  json composed = record();
  composed["graph"] =
      json::parse(R"json([{"name": "yuv2rgb", "inputs": [-1]}, {"name": "blur", "inputs": [0]},
    {"name": "binary", "inputs": [1]}, {"name": "invert", "inputs": [2]}])json");
  composed["stages"] = json::parse(R"json([
    {"stages": "load8", "nodes": [], "plane": 0, "cpu_ms_per_frame": 7, "pixels_computed": 3, "pixels_required": 3},
    {"stages": "yuv2rgb.a", "nodes": [0], "plane": 0, "cpu_ms_per_frame": 1, "pixels_computed": 3, "pixels_required": 3},
    {"stages": "yuv2rgb.b", "nodes": [0], "plane": 0, "cpu_ms_per_frame": 2, "pixels_computed": 6, "pixels_required": 3},
    {"stages": "yuv2rgb.b", "nodes": [0], "plane": 1, "cpu_ms_per_frame": 9, "pixels_computed": 6, "pixels_required": 3},
    {"stages": "blur", "nodes": [1, 77], "plane": 0, "cpu_ms_per_frame": null, "pixels_computed": 3, "pixels_required": 3},
    {"stages": "binary+invert+store8", "nodes": [2, 3], "plane": 0, "cpu_ms_per_frame": 5, "pixels_computed": 3,
     "pixels_required": 3}])json");
  const std::string page = run_page(document(composed));
  EXPECT_THAT(page, AllOf(HasSubstr(">3 ms, 1.50x<"), HasSubstr(">not timed, 1.00x<"),
                          HasSubstr(">5 ms for 2 filters<"), Not(HasSubstr("no time of its own"))));
}

TEST(RunPage, OfTwoRunsSaysWhichDidMoreAndWhetherTheyAreOfTheSameWork) {
  json other = record();
  other["fps"] = 100.0;
  other["input"] = "c.mp4";
  const std::string verdict = verdict_of(document(), document(other));
  EXPECT_THAT(verdict, HasSubstr("second run did 2.00 times as many frames a second"));
  EXPECT_THAT(verdict, HasSubstr("other inputs"));
  EXPECT_THAT(run_page(document(), document(other)), HasSubstr("Second: a.json"));
}

// Replaces every value in turn by each of these, and removes it.
void replace_each(json& part, const std::function<void()>& look) {
  static const json others[] = {
      nullptr, -1, 1e300, "<b>&\"'</b>", json::array(), json::object(), json::array({-5, "x", nullptr}),
      true};
  if (part.is_structured())
    for (auto& each : part)
      replace_each(each, look);
  const json kept = part;
  for (const json& other : others) {
    part = other;
    look();
  }
  part = kept;
}

TEST(RunPage, IsMadeOfAnythingThatCallsItselfARecord) {
  json broken = record();
  int made = 0;
  replace_each(broken, [&] {
    const auto read = read_run_document(broken, "x");
    if (!read) return;
    const std::string page = run_page(*read);
    ++made;
    EXPECT_THAT(page, Not(HasSubstr("<b>&\"")));
    EXPECT_THAT(page, Not(HasSubstr("nan")));
    EXPECT_TRUE(page.ends_with("</html>\n"));
  });
  EXPECT_GT(made, 500);
  EXPECT_FALSE(read_run_document(json::array(), "x"));
  EXPECT_THAT(read_run_document(json{{"pipeline", "blur"}}, "x").error().message,
              HasSubstr("neither a record of a run"));
}

TEST(RunPage, StaysBelowHalfAMegabyteHoweverMuchThereIs) {
  MILLRACE_RELEASE_ONLY();
  json large = record();
  auto& events = large["decisions"]["events"];
  for (int i = 0; i < 2000; ++i)
    events.push_back(events[1]);
  json frame = large["recorded_frames"][0];
  frame["groups"] = json::array();
  for (int group = 0; group < 12; ++group)
    frame["groups"].push_back(
        {{"stages", fmt::format("stage{}", group)}, {"plane", 0}, {"width", 1920}, {"height", 1080}});
  frame["calls"] = json::array();
  for (int i = 0; i < 20'000; ++i) {
    const int tile = i / 12;
    const int x = tile % 60 * 32;
    const int y = tile / 60 * 32;
    frame["calls"].push_back(
        fmt::format("{} {} {} {} {} {} {} {}", tile % 7, i % 12, x, y, x + 34, y + 34, i, i + 0.5));
  }
  for (int i = 0; i < 8; ++i)
    large["recorded_frames"].push_back(frame);
  for (auto& [key, column] : large["frame_times"].items())
    for (int i = 0; i < 1000; ++i)
      column.push_back(3.0 + i / 1000.0);
  EXPECT_LT(run_page(document(large)).size(), 500'000);
  EXPECT_LT(run_page(document(large), document(large)).size(), 500'000);
}

// Replaces texts that are not numbers by `text`, and extends arrays by repeating their beginning.
json grown(const json& part, const std::string& text, std::size_t more) {
  if (part.is_string())
    return part.get_ref<const std::string&>().find_first_not_of("0123456789. ") == std::string::npos
               ? part
               : json(text);
  if (!part.is_structured()) return part;
  json result = part;
  for (auto& each : result)
    each = grown(each, text, more);
  const auto is_structured = [](const json& each) { return each.is_structured(); };
  const auto is_flat = [&](const json& each) {
    return std::none_of(each.begin(), each.end(), is_structured);
  };
  const bool of_leaves = part.is_array() && !part.empty() && std::all_of(part.begin(), part.end(), is_flat);
  if (of_leaves) result.insert(result.end(), more, json(result.front()));
  return result;
}

class GrownRecord : public testing::TestWithParam<std::pair<std::size_t, std::size_t>> {};

TEST_P(GrownRecord, MakesAPageBelowHalfAMegabyte) {
  const auto [text_bytes, more] = GetParam();
  json huge = grown(record(), "\"" + std::string(text_bytes, '"') + "ä", more);
  huge["pictures"]["before"] = {
      {"width", 8}, {"height", 8}, {"data", "data:image/jpeg;base64," + std::string(text_bytes, 'Q')}};
  huge["pictures"]["after"] = huge["pictures"]["before"];
  const std::string page = run_page(document(huge), document(huge));
  EXPECT_LT(page.size(), 500'000);
  EXPECT_TRUE(page.ends_with("</html>\n"));
  EXPECT_THAT(page, Not(HasSubstr("\\x")));  // no character is split
}

INSTANTIATE_TEST_SUITE_P(Sizes, GrownRecord,
                         testing::Values(std::pair(1, 0), std::pair(1, 1500), std::pair(298, 400),
                                         std::pair(3998, 60), std::pair(59'000, 0), std::pair(200'000, 2)));

TEST(CandidateText, IsWhatASchedulesOwnNameWouldBe) {
  EXPECT_EQ(candidate_text(
                "structure=tiled,fusion=none,tile_width=256,tile_height=all,threads=1,frames_in_flight=2,"
                "affinity=pinned,isa=avx2"),
            "tiled 256xall, fusion none, 1 thread, 2 frames in flight, pinned, avx2");
  EXPECT_EQ(candidate_text("anything else"), "anything else");
}

}  // namespace
}  // namespace millrace::report
