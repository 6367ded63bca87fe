// ImageIndex: a searchable index of a folder's images.
#pragma once

#include "similar/index/region_graph.h"
#include "similar/regions/region_features.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

namespace millrace::similar {

struct IndexedImage {
  std::string name;  // path within the folder
  // Size and time when the file was read, to detect changes.
  std::uint64_t bytes = 0;
  std::int64_t modified_ns = 0;
  std::vector<Region> regions;  // never empty
  bool operator==(const IndexedImage&) const = default;
};

// One image in the answer to a query.
struct Answer {
  std::uint32_t image = 0;  // number in the index
  double distance = 0;      // earth_movers_distance()
  bool operator==(const Answer&) const = default;
};

// Candidates and ranking depend only on the index and the query. Several threads may search at the same time,
// but not during add().
class ImageIndex {
 public:
  // `folder`: absolute.
  explicit ImageIndex(std::string folder) : folder_(std::move(folder)) {}
  // `graph`: of the images' regions, in the same order.
  ImageIndex(std::string folder, std::vector<IndexedImage> images, RegionGraph graph);

  [[nodiscard]] Status add(IndexedImage image);

  [[nodiscard]] const std::string& folder() const { return folder_; }
  [[nodiscard]] const std::vector<IndexedImage>& images() const { return images_; }
  [[nodiscard]] const RegionGraph& graph() const { return graph_; }
  // Path of the image.
  [[nodiscard]] std::string path(std::uint32_t image) const;

  // The images that own one of the `per_region` nearest regions of any region of `query`; ascending.
  [[nodiscard]] std::vector<std::uint32_t> candidates(std::span<const Region> query,
                                                      std::size_t per_region) const;
  // The `most` candidates nearest to `query`, nearest first; ties keep their order. After a stop, only those
  // of the candidates that were compared before.
  [[nodiscard]] std::vector<Answer> rank(std::span<const Region> query,
                                         std::span<const std::uint32_t> candidates, std::size_t most,
                                         const std::stop_token& stop = {}) const;

 private:
  void note_regions(std::uint32_t image);

  std::string folder_;
  std::vector<IndexedImage> images_;
  std::vector<Features> centroids_;    // one per image
  std::vector<std::uint32_t> owners_;  // image number of each region
  RegionGraph graph_;
};

}  // namespace millrace::similar
