#include "millrace/base/testing/release_only_testing.h"
#include "millrace/pool/worker_pool.h"
#include "similar/image/similar_testing.h"
#include "similar/index/index_file.h"
#include "similar/run/html_page.h"
#include "similar/run/index_run.h"
#include "similar/run/photo_stages.h"
#include "similar/run/query_report.h"
#include "similar/run/query_run.h"

#include <filesystem>
#include <utility>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace millrace::similar {
namespace {

using stream::Strategy;

// A folder of scenes, some of them unreadable, and a pool of two workers.
class Runs : public testing::Test {
 protected:
  static constexpr unsigned scenes = 24;

  void SetUp() override {
    std::filesystem::create_directory(folder / "deeper");
    for (unsigned i = 0; i < scenes; ++i)
      write_jpeg(scene(i), folder / fmt::format("{}{:02}.jpg", i % 3 == 0 ? "deeper/" : "", i));
    const std::string text = "no picture";
    ASSERT_TRUE(write_whole(folder / "05a.jpg", std::as_bytes(std::span(text))));
    ASSERT_TRUE(write_whole(folder / "notes.txt", std::as_bytes(std::span(text))));
    const auto jpeg = read_regular_file(folder / "04.jpg");
    ASSERT_TRUE(write_whole(folder / "cut.png", std::span(**jpeg).first((*jpeg)->size() / 2)));
  }

  IndexOutcome index(const stream::RunOptions& options = {}, std::vector<IndexedImage> known = {},
                     Journal* journal = nullptr, int readers = 0) {
    pool::PoolTeam team = pool->team();
    return run_index({.folder = folder.path(),
                      .files = images_in(folder.path())->files,
                      .known = std::move(known),
                      .journal = journal,
                      .options = options,
                      .readers = readers,
                      .on_unreadable = [&](const Error& error) { unreadable.push_back(error.message); }},
                     team);
  }
  std::vector<QueryAnswer> query(const ImageIndex& index, const stream::RunOptions& options = {},
                                 int readers = 0) {
    std::vector<QueryAnswer> answers;
    pool::PoolTeam team = pool->team();
    const auto finished = run_query(index,
                                    {.files = images_in(folder.path())->files,
                                     .top = 3,
                                     .options = options,
                                     .readers = readers,
                                     .on_answer = [&](QueryAnswer answer) -> Status {
                                       answers.push_back(std::move(answer));
                                       return {};
                                     }},
                                    team);
    EXPECT_TRUE(finished.status) << finished.status.error().message;
    stages.clear();
    for (const stream::StageReport& stage : finished.report.stages)
      stages.push_back(stage.name);
    return answers;
  }

  TemporaryFolder folder;
  std::unique_ptr<pool::WorkerPool> pool = *pool::WorkerPool::create(2);
  std::vector<std::string> unreadable;
  std::vector<std::string> stages;  // of the last query
};

TEST_F(Runs, ListImagesOfAllFoldersByNameAndCountTheOthers) {
  const auto list = images_in(folder.path());
  ASSERT_TRUE(list);
  EXPECT_EQ(list->files.size(), scenes + 2);
  EXPECT_EQ(list->passed_over, 1U);
  EXPECT_TRUE(std::ranges::is_sorted(list->files, {}, &ImageFile::name));
  EXPECT_EQ(images_in(folder / "deeper")->files.size(), scenes / 3);
  EXPECT_FALSE(images_in(folder / "notes.txt"));
  EXPECT_FALSE(images_in(folder / "absent"));
}

TEST_F(Runs, DescribeTheSameAsOneStageAfterTheOther) {
  const auto outcome = index();
  ASSERT_TRUE(outcome.status);
  EXPECT_EQ(outcome.unreadable, 2U);
  ASSERT_EQ(outcome.index.images().size(), scenes);
  for (const IndexedImage& image : outcome.index.images())
    EXPECT_EQ(image.regions, *describe_file(folder / image.name)) << image.name;
}

TEST_F(Runs, ReportUnreadableImagesInOrderAndByName) {
  ASSERT_TRUE(index().status);
  ASSERT_EQ(unreadable.size(), 2U);
  EXPECT_NE(unreadable[0].find("05a.jpg' is not an image of a known format"), std::string::npos)
      << unreadable[0];
  EXPECT_NE(unreadable[1].find("cut.png' is damaged"), std::string::npos) << unreadable[1];
}

struct Setting {
  Strategy strategy;
  int threads;
  int tokens;
  std::size_t bytes;
};

class RunsOfAnyStrategy : public Runs, public testing::WithParamInterface<Setting> {};

TEST_P(RunsOfAnyStrategy, GiveTheSameIndexAndAnswers) {
  MILLRACE_RELEASE_ONLY();
  const ImageIndex reference = index().index;
  const stream::RunOptions options{.strategy = GetParam().strategy,
                                   .threads = GetParam().threads,
                                   .tokens = GetParam().tokens,
                                   .byte_budget = GetParam().bytes};
  const IndexOutcome outcome = index(options);
  ASSERT_TRUE(outcome.status);
  EXPECT_EQ(index_bytes(outcome.index), index_bytes(reference));
  const auto expected = query(reference);
  const auto answers = query(reference, options);
  EXPECT_EQ(to_json(answers, reference), to_json(expected, reference));
}

TEST_P(RunsOfAnyStrategy, GiveTheSameWithAParallelInput) {
  MILLRACE_RELEASE_ONLY();
  const IndexOutcome expected = index();
  const auto serially_named = std::exchange(unreadable, {});
  const stream::RunOptions options{.strategy = GetParam().strategy,
                                   .threads = GetParam().threads,
                                   .tokens = GetParam().tokens,
                                   .byte_budget = GetParam().bytes,
                                   .queue_depth = 1};
  std::vector<IndexedImage> known(expected.index.images().begin(), expected.index.images().begin() + 5);
  const IndexOutcome outcome = index(options, std::move(known), nullptr, 3);
  ASSERT_TRUE(outcome.status);
  EXPECT_EQ(outcome.reused, 5U);
  EXPECT_EQ(unreadable, serially_named);
  EXPECT_EQ(index_bytes(outcome.index), index_bytes(expected.index));
  const auto six_stages = query(expected.index);
  EXPECT_EQ(stages.size(), 7U);
  const auto four_stages = query(expected.index, options, 3);
  EXPECT_EQ(stages, (std::vector<std::string>{"names", "read", "compute", "output"}));
  EXPECT_EQ(to_json(four_stages, expected.index), to_json(six_stages, expected.index));
}

INSTANTIATE_TEST_SUITE_P(
    Strategies, RunsOfAnyStrategy,
    testing::Values(Setting{Strategy::stealing, 1, 0, 1 << 30}, Setting{Strategy::stealing, 2, 1, 1 << 30},
                    Setting{Strategy::stealing, 2, 7, 1 << 20}, Setting{Strategy::tbb, 1, 0, 1 << 30},
                    Setting{Strategy::tbb, 2, 3, 1 << 20}, Setting{Strategy::pools, 2, 0, 1 << 30},
                    Setting{Strategy::oversubscribed, 2, 0, 1 << 20},
                    Setting{Strategy::collapsed, 2, 2, 1 << 30}));

TEST_F(Runs, FindEveryImageItselfFirst) {
  const ImageIndex built = index().index;
  const auto answers = query(built);
  ASSERT_EQ(answers.size(), scenes + 2);
  std::size_t errors = 0;
  for (const QueryAnswer& answer : answers) {
    if (!answer.answers) {
      ++errors;
      continue;
    }
    ASSERT_EQ(answer.answers->size(), 3U);
    EXPECT_EQ(built.path(answer.answers->front().image), answer.path);
    EXPECT_NEAR(answer.answers->front().distance, 0, 1e-4);
  }
  EXPECT_EQ(errors, 2U);
}

TEST_F(Runs, FindTheSceneOfAFlippedAndOfACutImage) {
  const ImageIndex built = index().index;
  const auto first_of = [&](const Image& image) {
    write_jpeg(image, folder / "asked");
    const auto regions = describe_file(folder / "asked");
    return built.path(built.rank(*regions, built.candidates(*regions, 20), 1).front().image);
  };
  unsigned flips = 0;
  unsigned cuts = 0;
  for (const IndexedImage& indexed : built.images()) {
    const auto number = static_cast<unsigned>(std::stoi(indexed.name.substr(indexed.name.size() - 6)));
    const Image image = scene(number);
    flips += first_of(upright(image, 2)) == folder / indexed.name ? 1U : 0U;
    Image cut(image.width * 9 / 10, image.height * 9 / 10);
    for (int y = 0; y < cut.height; ++y)
      std::copy_n(image.pixel(image.width / 20, y + image.height / 20), 3 * cut.width, cut.pixel(0, y));
    cuts += first_of(cut) == folder / indexed.name ? 1U : 0U;
  }
  EXPECT_EQ(flips, scenes);
  EXPECT_GE(cuts, scenes - 2);
}

TEST_F(Runs, AreTheSameHoweverMuchWasKnown) {
  const ImageIndex whole = index().index;
  for (const std::size_t count : {0U, 1U, 10U, scenes}) {
    const std::vector known(whole.images().begin(), whole.images().begin() + static_cast<long>(count));
    const IndexOutcome outcome = index({}, known);
    ASSERT_TRUE(outcome.status);
    EXPECT_EQ(outcome.reused, count);
    EXPECT_EQ(index_bytes(outcome.index), index_bytes(whole));
  }
}

TEST_F(Runs, ReadAChangedImageAgain) {
  const ImageIndex before = index().index;
  write_jpeg(scene(1000), folder / "04.jpg");
  const IndexOutcome outcome = index({}, before.images());
  EXPECT_EQ(outcome.reused, scenes - 1);
  for (const IndexedImage& image : outcome.index.images())
    EXPECT_EQ(image.regions, *describe_file(folder / image.name)) << image.name;
}

TEST_F(Runs, StoppedAnywhereGoOnFromTheJournal) {
  const ImageIndex whole = index().index;
  for (const std::size_t stop_at : {1U, 5U, 20U}) {
    std::size_t kept = 0;
    {
      auto journal = Journal::open(folder / "index", "/there");
      std::stop_source stop;
      pool::PoolTeam team = pool->team();
      const IndexOutcome outcome = run_index({.folder = folder.path(),
                                              .files = images_in(folder.path())->files,
                                              .known = {},
                                              .journal = &*journal,
                                              .options = {.stop = stop.get_token()},
                                              .on_progress =
                                                  [&](std::size_t done) {
                                                    if (done == stop_at) stop.request_stop();
                                                  }},
                                             team);
      ASSERT_FALSE(outcome.status);
      EXPECT_EQ(outcome.status.error().kind, ErrorKind::interrupted);
      kept = outcome.index.images().size();
    }
    auto journal = Journal::open(folder / "index", "/there");
    const IndexOutcome outcome = index({}, journal->take_images(), &*journal);
    ASSERT_TRUE(outcome.status);
    EXPECT_EQ(outcome.reused, kept);
    EXPECT_GE(kept + 2, stop_at);  // two cannot be read
    EXPECT_EQ(index_bytes(outcome.index), index_bytes(whole));
    journal->remove();
  }
}

TEST_F(Runs, EndWhereTheAnswersCannotBeWritten) {
  const ImageIndex built = index().index;
  int answers = 0;
  pool::PoolTeam team = pool->team();
  const auto finished = run_query(built,
                                  {.files = images_in(folder.path())->files,
                                   .on_answer = [&](const QueryAnswer&) -> Status {
                                     if (++answers == 3) return failure("disk full");
                                     return {};
                                   }},
                                  team);
  ASSERT_FALSE(finished.status);
  EXPECT_NE(finished.status.error().message.find("disk full"), std::string::npos);
  EXPECT_EQ(answers, 3);
}

TEST_F(Runs, MakeAPageThatShowsEveryThumbnailOnceAndNamesSafely) {
  write_jpeg(scene(1), folder / "a <b> & \"c\".jpg");
  const ImageIndex built = index().index;
  const auto answers = query(built);
  std::vector<std::string> paths;
  for (const IndexedImage& image : built.images())
    paths.push_back(folder / image.name);
  pool::PoolTeam team = pool->team();
  const auto thumbnails = make_thumbnails(paths, {}, team);
  ASSERT_TRUE(thumbnails);
  ASSERT_EQ(thumbnails->size(), paths.size());
  for (const auto& [path, thumbnail] : *thumbnails) {
    EXPECT_TRUE(read_image_header(thumbnail.jpeg)) << path;
    EXPECT_LE(std::max(thumbnail.width, thumbnail.height), longest_thumbnail_side);
  }
  const std::string page = html_page(answers, built, *thumbnails);
  const auto count = [&](std::string_view what) {
    std::size_t found = 0;
    for (std::size_t at = page.find(what); at != std::string::npos; at = page.find(what, at + 1))
      ++found;
    return found;
  };
  EXPECT_EQ(count("data:image/jpeg;base64,"), paths.size());
  EXPECT_EQ(count("<section>"), answers.size());
  EXPECT_EQ(count("class=\"error\""), 2U);
  EXPECT_EQ(count("<b>"), 0U);
  EXPECT_GT(count("a &lt;b&gt; &amp; &quot;c&quot;.jpg"), 0U);
  EXPECT_EQ(count("http"), 0U);
}

}  // namespace
}  // namespace millrace::similar
