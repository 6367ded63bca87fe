// ImageIndex: all that is known of the images of a folder, ready to be searched.
#pragma once

#include "similar/index/region_graph.h"
#include "similar/regions/region_features.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace millrace::similar {

struct IndexedImage {
  std::string name;  // its path within the folder
  // Of the file when it was read, to tell whether it has changed since.
  std::uint64_t bytes = 0;
  std::int64_t modified_ns = 0;
  std::vector<Region> regions;  // never empty
  bool operator==(const IndexedImage&) const = default;
};

// One image among the answers to a query.
struct Answer {
  std::uint32_t image = 0;  // its number in the index
  double distance = 0;      // earth_movers_distance()
  bool operator==(const Answer&) const = default;
};

// Candidates and ranking are functions of the index and the query alone. Searching is safe from several
// threads at once, not beside add().
class ImageIndex {
 public:
  // `folder`: absolute.
  explicit ImageIndex(std::string folder) : folder_(std::move(folder)) {}
  // With a graph of the images' regions, in their order.
  ImageIndex(std::string folder, std::vector<IndexedImage> images, RegionGraph graph);

  [[nodiscard]] Status add(IndexedImage image);

  [[nodiscard]] const std::string& folder() const { return folder_; }
  [[nodiscard]] const std::vector<IndexedImage>& images() const { return images_; }
  [[nodiscard]] const RegionGraph& graph() const { return graph_; }
  // Where the image is.
  [[nodiscard]] std::string path(std::uint32_t image) const;

  // The images that own one of the `per_region` regions nearest to one of `query`'s; ascending.
  [[nodiscard]] std::vector<std::uint32_t> candidates(std::span<const Region> query,
                                                      std::size_t per_region) const;
  // The `most` of `candidates` that are nearest to `query`, nearest first, equally near ones in their order.
  [[nodiscard]] std::vector<Answer> rank(std::span<const Region> query,
                                         std::span<const std::uint32_t> candidates, std::size_t most) const;

 private:
  void note_regions(std::uint32_t image);

  std::string folder_;
  std::vector<IndexedImage> images_;
  std::vector<Features> centroids_;    // of each image
  std::vector<std::uint32_t> owners_;  // the image of each region
  RegionGraph graph_;
};

}  // namespace millrace::similar
