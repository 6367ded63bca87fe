#include "similar/photo_stages.h"

#include "millrace/base/whole_file.h"
#include "similar/image_decoder.h"
#include "similar/resize.h"

namespace millrace::similar {

namespace {

Result<EncodedImage> read_image(const std::string& path) {
  auto bytes = read_regular_file(path);
  if (!bytes) return std::unexpected(bytes.error());
  if (!*bytes) return failure("there is no file '{}'", path);
  auto header = read_image_header(**bytes);
  if (!header) return failure("'{}' is {}", path, header.error().message);
  return EncodedImage{std::move(**bytes), *header};
}

}  // namespace

Job<EncodedImage> read_stage(ImageFile file) {
  Job<EncodedImage> job{.file = std::move(file)};
  job.set(read_image(job.file.path));
  return job;
}

std::size_t working_bytes(const Job<EncodedImage>& job) {
  constexpr std::size_t analysis = std::size_t{24} * analysed_side * analysed_side;
  if (!job.value) return sizeof(job);
  const auto pixels =
      static_cast<std::size_t>(job.value->header.width) * static_cast<std::size_t>(job.value->header.height);
  return job.value->bytes.size() + 3 * pixels + analysis;
}

Job<Image> load_stage(Job<EncodedImage> job) {
  const std::string path = job.file.path;
  return next_job(std::move(job), [&](const EncodedImage& encoded) -> Result<Image> {
    // Twice the size at least, for the resizing to have something to choose from.
    const auto image = decode_image(encoded.bytes, encoded.header, 2 * analysed_side);
    if (!image) return failure("'{}' is {}", path, image.error().message);
    return upright(resize(*image, analysed_side, analysed_side), encoded.header.orientation);
  });
}

Job<SegmentedImage> segment_stage(Job<Image> job) {
  return next_job(std::move(job), [](Image image) {
    Segmentation segmentation = segment(image);
    return SegmentedImage{std::move(image), std::move(segmentation)};
  });
}

Job<std::vector<Region>> extract_stage(Job<SegmentedImage> job) {
  return next_job(std::move(job), [](const SegmentedImage& segmented) {
    return extract_features(segmented.image, segmented.segmentation);
  });
}

Result<std::vector<Region>> describe_file(const std::string& path) {
  auto job = extract_stage(segment_stage(load_stage(read_stage({.path = path, .name = path}))));
  if (!job.value) return std::unexpected(std::move(job.error));
  return std::move(*job.value);
}

}  // namespace millrace::similar
