// Image search on real photographs: a query with a crop or flip must find its original.
#include "millrace/pool/worker_pool.h"
#include "similar/image/similar_testing.h"
#include "similar/index/image_index.h"
#include "similar/run/index_run.h"
#include "similar/run/photo_stages.h"

#include <gtest/gtest.h>

namespace millrace::similar {
namespace {

#ifdef MILLRACE_SANITIZED
constexpr std::size_t indexed = 40;
constexpr std::size_t asked = 5;
#else
constexpr std::size_t indexed = 200;
constexpr std::size_t asked = 100;
#endif

class Photographs : public testing::Test {
 protected:
  void SetUp() override {
    const auto folder = photographs();
    if (!folder)
      GTEST_SKIP() << "NO PHOTOGRAPHS: set MILLRACE_SHARED to the folder that has images/bsds500-test";
    files = images_in(*folder)->files;
    ASSERT_GE(files.size(), indexed);
    files.resize(indexed);
    pool::PoolTeam team = pool->team();
    IndexOutcome outcome = run_index({.folder = *folder, .files = files, .known = {}}, team);
    ASSERT_TRUE(outcome.status);
    ASSERT_EQ(outcome.unreadable, 0U);
    index = std::move(outcome.index);
  }

  // Number of photographs found first when queried with the output of `change`.
  template <class Change> std::size_t found_first(Change change) {
    std::size_t found = 0;
    for (std::size_t i = 0; i < asked; ++i) {
      const auto bytes = read_regular_file(files[i].path);
      const auto image = decode_image(**bytes, *read_image_header(**bytes), 1 << 20);
      write_jpeg(change(*image), workspace / "asked.jpg");
      const auto regions = describe_file(workspace / "asked.jpg");
      const auto best = index.rank(*regions, index.candidates(*regions, 20), 1);
      found += index.images()[best.front().image].name == files[i].name ? 1U : 0U;
    }
    return found;
  }

  TemporaryFolder workspace;
  std::unique_ptr<pool::WorkerPool> pool = *pool::WorkerPool::create(2);
  std::vector<ImageFile> files;
  ImageIndex index{"/"};
};

TEST_F(Photographs, AreFoundFirstByTheirMirrorImages) {
  EXPECT_EQ(found_first([](const Image& image) { return upright(image, 2); }), asked);
}

TEST_F(Photographs, AreNearlyAlwaysFoundFirstByTheirMiddles) {
  const std::size_t found = found_first([](const Image& image) {
    Image middle(image.width * 8 / 10, image.height * 8 / 10);
    for (int y = 0; y < middle.height; ++y)
      std::copy_n(image.pixel(image.width / 10, y + image.height / 10), 3 * middle.width, middle.pixel(0, y));
    return middle;
  });
  EXPECT_GE(found, asked * 95 / 100);
}

}  // namespace
}  // namespace millrace::similar
