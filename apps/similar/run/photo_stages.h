// The stages that every image goes through, whether it is indexed or asked about: read, load, segment,
// extract. Each is a function of what came before alone.
#pragma once

#include "millrace/base/result.h"
#include "similar/image/image.h"
#include "similar/image/image_header.h"
#include "similar/regions/region_features.h"
#include "similar/regions/segmentation.h"
#include "similar/run/image_list.h"

#include <cstddef>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace millrace::similar {

// An image on its way: an item of a stream. A failure does not end the stream; it travels on in the image's
// place, so that it is reported in order.
template <class T> struct Job {
  ImageFile file;
  std::optional<T> value;
  Error error;  // where there is no value

  void set(Result<T> result) {
    if (result)
      value.emplace(std::move(*result));
    else
      error = std::move(result.error());
  }
};

// The job with fn(value) in place of the value, fn returning U or Result<U>; a failure is passed on.
template <class T, class Fn> [[nodiscard]] auto next_job(Job<T> job, Fn fn) {
  using Returned = decltype(fn(std::move(*job.value)));
  constexpr bool may_fail = requires { typename Returned::error_type; };
  using U = typename std::conditional_t<may_fail, Returned, std::optional<Returned>>::value_type;
  Job<U> next{.file = std::move(job.file), .value = std::nullopt, .error = std::move(job.error)};
  if (!job.value) return next;
  if constexpr (may_fail)
    next.set(fn(std::move(*job.value)));
  else
    next.value.emplace(fn(std::move(*job.value)));
  return next;
}

// The side of the square that images are resized to before they are segmented, in pixels, whatever their
// shape.
inline constexpr int analysed_side = 128;
// They are decoded at twice that size at least, for the resizing to have something to choose from.
inline constexpr int decoded_side = 2 * analysed_side;

struct EncodedImage {
  std::vector<std::byte> bytes;
  ImageHeader header;
};
struct SegmentedImage {
  Image image;
  Segmentation segmentation;
};

// What a job occupies at most on its way through the stages, in bytes.
[[nodiscard]] std::size_t working_bytes(const Job<EncodedImage>& job);

// Reads the file and its header. An image that takes more than `most_bytes` by working_bytes() is an error,
// and so is a file that is larger, which is not read then. Errors here and below name the file.
[[nodiscard]] Job<EncodedImage> read_stage(ImageFile file,
                                           std::size_t most_bytes = std::numeric_limits<std::size_t>::max());
// Decodes, resizes and turns upright.
[[nodiscard]] Job<Image> load_stage(Job<EncodedImage> job);
[[nodiscard]] Job<SegmentedImage> segment_stage(Job<Image> job);
[[nodiscard]] Job<std::vector<Region>> extract_stage(Job<SegmentedImage> job);

// The parallel input: names come in, files are read by threads of their own, and what is computed of a file
// is one stage. How large a file's image is shows only when it is read, so of what it will take as much is
// counted beforehand as photographs take (listed_bytes); of images that take more one at a time is worked on.
// What is in progress may so take as much as one image may, on top of the budget.
inline constexpr int most_readers = 1024;
[[nodiscard]] std::size_t listed_bytes(const ImageFile& file);

// load, segment, extract. Copies share the turn of the large images. Safe to call from several threads.
class DescribeStage {
 public:
  [[nodiscard]] Job<std::vector<Region>> operator()(Job<EncodedImage> job) const;

 private:
  std::shared_ptr<std::mutex> large_ = std::make_shared<std::mutex>();
};

// All of them, one after the other.
[[nodiscard]] Result<std::vector<Region>> describe_file(const std::string& path);

}  // namespace millrace::similar
