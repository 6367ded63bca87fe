#include "similar/run/photo_stages.h"

#include "millrace/base/file/whole_file.h"
#include "similar/image/image_decoder.h"
#include "similar/image/resize.h"

#include <cstdint>
#include <filesystem>
#include <system_error>
#include <utility>

namespace millrace::similar {
namespace {

// Memory for nearly all photographs, decoded at an eighth to a half of their size.
constexpr std::size_t common_decoding_bytes = std::size_t{2} << 20;
constexpr std::size_t analysis_bytes = std::size_t{24} * analysed_side * analysed_side;

std::size_t bytes_of(const EncodedImage& image) {
  return image.bytes.size() + decoding_bytes(image.header, decoded_side) + analysis_bytes;
}

std::unexpected<Error> too_large(const std::string& path, const std::string& what, std::size_t bytes,
                                 std::size_t most_bytes) {
  constexpr std::size_t mebibyte = std::size_t{1} << 20;
  return failure("'{}' is {} and needs {} MiB of memory; the limit is {} MiB; raise it with --memory {}M",
                 path, what, (bytes + mebibyte - 1) / mebibyte, most_bytes / mebibyte,
                 (bytes + mebibyte - 1) / mebibyte);
}

Result<EncodedImage> read_image(const std::string& path, std::size_t most_bytes) {
  std::error_code unknown;
  const std::uintmax_t size = std::filesystem::file_size(path, unknown);
  if (!unknown && size > most_bytes) return too_large(path, "a large file", size, most_bytes);
  auto bytes = read_regular_file(path);
  if (!bytes) return std::unexpected(bytes.error());
  if (!*bytes) return failure("there is no file '{}'", path);
  auto header = read_image_header(**bytes);
  if (!header) return failure("'{}' is {}", path, header.error().message);
  EncodedImage image{std::move(**bytes), *header};
  if (const std::size_t needed = bytes_of(image); needed > most_bytes)
    return too_large(path, fmt::format("{}x{} pixels", header->width, header->height), needed, most_bytes);
  return image;
}

}  // namespace

Job<EncodedImage> read_stage(ImageFile file, std::size_t most_bytes) {
  Job<EncodedImage> job{.file = std::move(file)};
  job.set(read_image(job.file.path, most_bytes));
  return job;
}

std::size_t working_bytes(const Job<EncodedImage>& job) {
  return job.value ? bytes_of(*job.value) : sizeof(job);
}

Job<Image> load_stage(Job<EncodedImage> job) {
  const std::string path = job.file.path;
  return next_job(std::move(job), [&](const EncodedImage& encoded) -> Result<Image> {
    const auto image = decode_image(encoded.bytes, encoded.header, decoded_side);
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

std::size_t listed_bytes(const ImageFile& file) {
  return static_cast<std::size_t>(file.bytes) + common_decoding_bytes + analysis_bytes;
}

Job<std::vector<Region>> DescribeStage::operator()(Job<EncodedImage> job) const {
  std::unique_lock<std::mutex> turn(*large_, std::defer_lock);
  if (working_bytes(job) > listed_bytes(job.file)) turn.lock();
  return extract_stage(segment_stage(load_stage(std::move(job))));
}

Result<std::vector<Region>> describe_file(const std::string& path) {
  auto job = extract_stage(segment_stage(load_stage(read_stage({.path = path, .name = path}))));
  if (!job.value) return std::unexpected(std::move(job.error));
  return std::move(*job.value);
}

}  // namespace millrace::similar
