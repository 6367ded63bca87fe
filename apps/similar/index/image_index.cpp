#include "similar/index/image_index.h"

#include "similar/regions/earth_movers_distance.h"

#include <algorithm>
#include <utility>

namespace millrace::similar {

ImageIndex::ImageIndex(std::string folder, std::vector<IndexedImage> images, RegionGraph graph)
    : folder_(std::move(folder)), images_(std::move(images)), graph_(std::move(graph)) {
  for (std::uint32_t image = 0; image < images_.size(); ++image)
    note_regions(image);
}

Status ImageIndex::add(IndexedImage image) {
  for (const Region& region : image.regions)
    if (Status added = graph_.add(region.features); !added) return added;
  images_.push_back(std::move(image));
  note_regions(static_cast<std::uint32_t>(images_.size() - 1));
  return {};
}

void ImageIndex::note_regions(std::uint32_t image) {
  owners_.insert(owners_.end(), images_[image].regions.size(), image);
  centroids_.push_back(centroid(images_[image].regions));
}

std::string ImageIndex::path(std::uint32_t image) const {
  const bool is_root = folder_.ends_with('/');
  return folder_ + (is_root ? "" : "/") + images_[image].name;
}

std::vector<std::uint32_t> ImageIndex::candidates(std::span<const Region> query,
                                                  std::size_t per_region) const {
  std::vector<std::uint32_t> found;
  for (const Region& region : query)
    for (const std::uint32_t neighbour : graph_.nearest(region.features, per_region))
      found.push_back(owners_[neighbour]);
  std::ranges::sort(found);
  found.erase(std::ranges::unique(found).begin(), found.end());
  return found;
}

std::vector<Answer> ImageIndex::rank(std::span<const Region> query, std::span<const std::uint32_t> candidates,
                                     std::size_t most, const std::stop_token& stop) const {
  // Most promising first, so that the lower bound soon excludes the others.
  const Features middle = centroid(query);
  std::vector<Answer> bounds;
  bounds.reserve(candidates.size());
  for (const std::uint32_t image : candidates)
    bounds.push_back({image, similar::distance(middle, centroids_[image])});
  const auto nearer = [](const Answer& a, const Answer& b) {
    return std::pair(a.distance, a.image) < std::pair(b.distance, b.image);
  };
  std::ranges::sort(bounds, nearer);

  std::vector<Answer> nearest;
  for (const Answer& bound : bounds) {
    if (stop.stop_requested()) break;
    if (nearest.size() == most && bound.distance > nearest.back().distance + bound_slack) break;
    const Answer answer{bound.image, earth_movers_distance(query, images_[bound.image].regions)};
    nearest.insert(std::ranges::upper_bound(nearest, answer, nearer), answer);
    if (nearest.size() > most) nearest.pop_back();
  }
  return nearest;
}

}  // namespace millrace::similar
