// The stages of every image, whether indexed or queried: read, load, segment, extract. Each depends only on
// the output of the stage before.
#pragma once

#include "millrace/base/error/result.h"
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

// An image in the stream. A failure does not end the stream but takes the image's place, so that it is
// reported in order.
template <class T> struct Job {
  ImageFile file;
  std::optional<T> value;
  Error error;  // if there is no value

  void set(Result<T> result) {
    if (result)
      value.emplace(std::move(*result));
    else
      error = std::move(result.error());
  }
};

// Replaces the value by fn(value), where fn returns U or Result<U>; passes a failure on.
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

// Images are resized to a square with this side in pixels, whatever their shape, before segmentation.
inline constexpr int analysed_side = 128;
// Minimum size for decoding: twice that, so that resizing has enough pixels.
inline constexpr int decoded_side = 2 * analysed_side;

struct EncodedImage {
  std::vector<std::byte> bytes;
  ImageHeader header;
};
struct SegmentedImage {
  Image image;
  Segmentation segmentation;
};

// Maximum memory of a job on its way through the stages, in bytes.
[[nodiscard]] std::size_t working_bytes(const Job<EncodedImage>& job);

// Reads the file and its header. Error if the image needs more than `most_bytes` by working_bytes(). A file
// that is larger than that is an error too and is not read. Errors here and below name the file.
[[nodiscard]] Job<EncodedImage> read_stage(ImageFile file,
                                           std::size_t most_bytes = std::numeric_limits<std::size_t>::max());
// Decodes, resizes and turns upright.
[[nodiscard]] Job<Image> load_stage(Job<EncodedImage> job);
[[nodiscard]] Job<SegmentedImage> segment_stage(Job<Image> job);
[[nodiscard]] Job<std::vector<Region>> extract_stage(Job<SegmentedImage> job);

// Parallel input: the items are names, extra threads read the files, and all computing of a file is one
// stage. The size of a picture is unknown until its file is read. So each item is counted with the memory of
// a typical photograph (listed_bytes), and larger images are processed one at a time. Memory in use can
// therefore exceed the budget by that of one image.
inline constexpr int most_readers = 1024;
[[nodiscard]] std::size_t listed_bytes(const ImageFile& file);

// load, segment, extract. Copies share the lock that admits one large image at a time. Thread-safe.
class DescribeStage {
 public:
  [[nodiscard]] Job<std::vector<Region>> operator()(Job<EncodedImage> job) const;

 private:
  std::shared_ptr<std::mutex> large_ = std::make_shared<std::mutex>();
};

// All stages in sequence.
[[nodiscard]] Result<std::vector<Region>> describe_file(const std::string& path);

}  // namespace millrace::similar
