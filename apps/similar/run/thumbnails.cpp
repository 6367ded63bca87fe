#include "similar/run/thumbnails.h"

#include "millrace/stream/flow.h"
#include "similar/image/image_decoder.h"
#include "similar/image/resize.h"
#include "similar/run/photo_stages.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace millrace::similar {
namespace {

constexpr int jpeg_quality = 80;

Result<Thumbnail> thumbnail_of(const EncodedImage& encoded) {
  const auto image = decode_image(encoded.bytes, encoded.header, longest_thumbnail_side);
  if (!image) return std::unexpected(image.error());
  const int longest = std::max(image->width, image->height);
  const int wanted = std::min(longest, longest_thumbnail_side);
  const auto shrunk = [&](int side) { return std::max(1, (side * wanted + longest / 2) / longest); };
  const Image small =
      upright(resize(*image, shrunk(image->width), shrunk(image->height)), encoded.header.orientation);
  auto jpeg = encode_jpeg(small, jpeg_quality);
  if (!jpeg) return std::unexpected(jpeg.error());
  return Thumbnail{small.width, small.height, std::move(*jpeg)};
}

}  // namespace

Result<Thumbnails> make_thumbnails(const std::vector<std::string>& paths, const stream::RunOptions& options,
                                   pool::Team& team) {
  Thumbnails thumbnails;
  auto next = paths.begin();
  auto flow = stream::source("read",
                             [&]() -> std::optional<Job<EncodedImage>> {
                               if (next == paths.end()) return std::nullopt;
                               const std::string& path = *next++;
                               return read_stage({.path = path, .name = path}, options.byte_budget);
                             },
                             {.bytes = working_bytes})
                  .stage(stream::Kind::parallel, "shrink",
                         [](Job<EncodedImage> job) { return next_job(std::move(job), thumbnail_of); })
                  .sink(stream::Kind::serial_as_they_come, "keep", [&](Job<Thumbnail> job) {
                    if (job.value) thumbnails[job.file.path] = std::move(*job.value);
                  });
  if (!flow) return std::unexpected(flow.error());
  if (const stream::Finished finished = flow->run(team, options); !finished.status)
    return std::unexpected(finished.status.error());
  return thumbnails;
}

}  // namespace millrace::similar
