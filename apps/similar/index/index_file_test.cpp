#include "similar/image/similar_testing.h"
#include "similar/index/index_file.h"
#include "similar/index/journal.h"

#include <algorithm>
#include <filesystem>

#include <gtest/gtest.h>

namespace millrace::similar {
namespace {

std::vector<IndexedImage> some_images(unsigned seed, std::size_t count) {
  std::vector<IndexedImage> images;
  for (std::size_t i = 0; i < count; ++i) {
    const Image image = scene(seed + static_cast<unsigned>(i), 64, 48);
    images.push_back({fmt::format("folder/{}.jpg", i), 1000 + i, -5 + static_cast<std::int64_t>(i),
                      extract_features(image, segment(image))});
  }
  return images;
}

ImageIndex index_of(const std::vector<IndexedImage>& images) {
  ImageIndex index("/some/where");
  for (const IndexedImage& image : images)
    EXPECT_TRUE(index.add(image));
  return index;
}

class IndexFile : public testing::TestWithParam<std::size_t> {
 protected:
  ImageIndex index = index_of(some_images(1, GetParam()));
  std::vector<std::byte> file = index_bytes(index);
};

TEST_P(IndexFile, ReadBackIsTheSameIndex) {
  const auto read = index_from(file);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->folder(), index.folder());
  EXPECT_EQ(read->images(), index.images());
  EXPECT_EQ(index_bytes(*read), file);
  for (const IndexedImage& image : some_images(100, 5)) {
    const auto candidates = index.candidates(image.regions, 10);
    EXPECT_EQ(read->candidates(image.regions, 10), candidates);
    EXPECT_EQ(read->rank(image.regions, candidates, 3), index.rank(image.regions, candidates, 3));
  }
}

TEST_P(IndexFile, CutAnywhereIsRefused) {
  for (std::size_t size = 0; size < file.size(); size += 1 + size / 97) {
    const auto read = index_from(std::span(file).first(size));
    ASSERT_FALSE(read) << size;
    EXPECT_FALSE(read.error().message.empty());
  }
}

TEST_P(IndexFile, WithAnyBitFlippedIsRefused) {
  std::mt19937 random(4);
  for (int round = 0; round < 500; ++round) {
    const std::size_t place = random() % file.size();
    const auto bit = std::byte{1} << random() % 8;
    file[place] ^= bit;
    ASSERT_FALSE(index_from(file)) << place;
    file[place] ^= bit;
  }
}

TEST_P(IndexFile, WithSomethingBehindItIsRefused) {
  file.push_back(std::byte{0});
  EXPECT_FALSE(index_from(file));
}

INSTANTIATE_TEST_SUITE_P(Images, IndexFile, testing::Values(0U, 1U, 3U, 40U));

TEST(IndexFileErrors, SayWhatTheFileIs) {
  const std::string other = "something else altogether";
  EXPECT_EQ(index_from(std::as_bytes(std::span(other))).error().message, "no index of millrace-similar");
  auto file = index_bytes(index_of(some_images(1, 1)));
  file[mark_size] = std::byte{9};
  EXPECT_EQ(index_from(file).error().message, "of version 9, and this program reads version 1");
}

TEST(IndexFileRecords, AreRefusedWhereTheyAreMoved) {
  // Two files whose records differ only in position.
  const auto images = some_images(1, 2);
  ASSERT_EQ(images[0].name.size(), images[1].name.size());
  const std::vector<std::byte> payload(40, std::byte{1});
  std::vector<std::byte> file = file_start(index_mark, index_version);
  for (int i = 0; i < 2; ++i) {
    const auto record = record_bytes(file.size(), 2, payload);
    file.insert(file.end(), record.begin(), record.end());
  }
  const std::size_t size = record_header_size + payload.size();
  auto reader = RecordReader::open(file, index_mark, index_version, "index");
  ASSERT_TRUE(reader->next());
  ASSERT_TRUE(reader->next());
  std::vector<std::byte> swapped = file;
  std::swap_ranges(swapped.begin() + first_record_offset, swapped.begin() + first_record_offset + size,
                   swapped.begin() + first_record_offset + static_cast<std::ptrdiff_t>(size));
  reader = RecordReader::open(swapped, index_mark, index_version, "index");
  EXPECT_FALSE(reader->next());
}

class JournalTest : public testing::Test {
 protected:
  TemporaryFolder folder;
  std::string path = folder / "an.index";
  std::vector<IndexedImage> images = some_images(50, 4);
};

TEST_F(JournalTest, GivesBackWhatWasAppendedBeforeItWasClosed) {
  for (std::size_t i = 0; i < images.size(); ++i) {
    auto journal = Journal::open(path, "/there");
    ASSERT_TRUE(journal) << journal.error().message;
    EXPECT_EQ(journal->take_images(), std::vector(images.begin(), images.begin() + static_cast<long>(i)));
    ASSERT_TRUE(journal->append(images[i]));
  }
}

TEST_F(JournalTest, CutAnywhereGivesBackAllThatIsWhole) {
  std::vector<std::uintmax_t> sizes;
  for (const IndexedImage& image : images) {
    auto journal = Journal::open(path, "/there");
    sizes.push_back(std::filesystem::file_size(path + ".journal"));
    ASSERT_TRUE(journal->append(image));
  }
  const auto whole = read_regular_file(path + ".journal");
  for (std::size_t size = 0; size < (*whole)->size(); size += 37) {
    ASSERT_TRUE(
        write_whole(path + ".journal", std::span(**whole).first(size), {.overwrite = Overwrite::yes}));
    auto journal = Journal::open(path, "/there");
    ASSERT_TRUE(journal) << size;
    const auto kept = static_cast<std::size_t>(
        std::max<std::ptrdiff_t>(0, std::ranges::upper_bound(sizes, size) - sizes.begin() - 1));
    ASSERT_EQ(journal->take_images().size(), kept) << size;
    ASSERT_TRUE(journal->append(images.back()));
    journal = Result<Journal>(std::unexpected(Error{}));  // closes it
    auto again = Journal::open(path, "/there");
    ASSERT_EQ(again->take_images().size(), kept + 1);
  }
}

TEST_F(JournalTest, OfAnotherFolderIsNotUsed) {
  {
    auto journal = Journal::open(path, "/there");
    ASSERT_TRUE(journal->append(images[0]));
  }
  EXPECT_TRUE(Journal::open(path, "/elsewhere")->take_images().empty());
}

TEST_F(JournalTest, IsOneRunsAlone) {
  const auto first = Journal::open(path, "/there");
  const auto second = Journal::open(path, "/there");
  ASSERT_FALSE(second);
  EXPECT_NE(second.error().message.find("another run"), std::string::npos);
}

TEST_F(JournalTest, LeavesEveryOtherFileOfThatNameAlone) {
  // Shorter than the mark of a journal, as long, longer; and one that begins like a journal.
  for (const std::string text : {"x", "my own notes", "16 bytes of text", "millrace notes",
                                 "a file that happens to have this name", "millrace-journey of last year"}) {
    for (const bool linked : {false, true}) {
      const std::string victim = linked ? folder / "victim" : path + ".journal";
      ASSERT_TRUE(write_whole(victim, text));
      if (linked) std::filesystem::create_symlink(victim, path + ".journal");
      const auto refused = Journal::open(path, "/there");
      ASSERT_FALSE(refused) << text;
      EXPECT_EQ(refused.error().kind, ErrorKind::usage);
      EXPECT_EQ(content_of(victim), text);
      EXPECT_EQ(std::filesystem::is_symlink(path + ".journal"), linked);
      std::filesystem::remove(path + ".journal");
      std::filesystem::remove(victim);
    }
  }
}

TEST_F(JournalTest, DoesNotFollowALinkToAJournal) {
  const std::string elsewhere = folder / "elsewhere";
  ASSERT_TRUE(Journal::open(elsewhere, "/there")->append(images[0]));
  const std::string before = content_of(elsewhere + ".journal");
  std::filesystem::create_symlink(elsewhere + ".journal", path + ".journal");
  EXPECT_FALSE(Journal::open(path, "/other"));
  EXPECT_EQ(content_of(elsewhere + ".journal"), before);
}

TEST_F(JournalTest, RemovedLeavesWhatHasTakenItsPlace) {
  auto journal = Journal::open(path, "/there");
  std::filesystem::rename(path + ".journal", folder / "moved");
  const std::string text = "new";
  ASSERT_TRUE(write_whole(path + ".journal", text));
  journal->remove();
  EXPECT_EQ(content_of(path + ".journal"), text);
}

TEST_F(JournalTest, RemovedIsGone) {
  auto journal = Journal::open(path, "/there");
  journal->remove();
  EXPECT_FALSE(std::filesystem::exists(path + ".journal"));
}

}  // namespace
}  // namespace millrace::similar
