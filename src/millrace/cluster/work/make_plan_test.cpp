#include "millrace/base/testing/temporary_folder_testing.h"
#include "millrace/cluster/work/make_plan.h"
#include "millrace/video/video_testing.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace millrace::cluster {
namespace {

constexpr const char* place_on_sphere = "Spherical Mapping";

// A 360-degree video according to FFmpeg's metadata: equirectangular projection, seen straight on.
std::string write_sphere(const TemporaryFolder& folder) {
  const std::string path = folder / "sphere.mkv";
  const video::Properties sphere{{place_on_sphere, std::vector<std::uint8_t>(36, 0)}};
  const auto frames = video::testing::read_all("test:32x16@3").frames;
  const Status written = video::testing::write_all(
      path, frames, {.properties = std::make_shared<const video::Properties>(sphere)});
  EXPECT_TRUE(written) << written.error().message;
  return path;
}

bool keeps_sphere(const std::string& input, const char* pipeline) {
  const auto job = look_at_input({.pipeline = pipeline, .input = input});
  EXPECT_TRUE(job) << job.error().message;
  return job && job->properties && job->properties->contains(place_on_sphere);
}

TEST(LookAtInput, dropsWhatTheSphereIsWhereThePictureTurns) {
  const TemporaryFolder folder;
  const std::string input = write_sphere(folder);
  EXPECT_TRUE(keeps_sphere(input, "blur"));
  EXPECT_FALSE(keeps_sphere(input, "rotate(20)"));
}

}  // namespace
}  // namespace millrace::cluster
