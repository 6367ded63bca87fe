#include "similar/index/index_file.h"

#include "similar/index/byte_buffer.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace millrace::similar {
namespace {

// Bounds the size of a record.
constexpr std::size_t nodes_per_record = 4096;

void append(std::vector<std::byte>& file, RecordKind kind, std::span<const std::byte> payload) {
  const auto record = record_bytes(file.size(), static_cast<std::uint32_t>(kind), payload);
  file.insert(file.end(), record.begin(), record.end());
}

void write_node(ByteWriter& writer, const RegionGraph::Node& node) {
  writer.number(static_cast<std::uint8_t>(node.links.size()));
  for (const auto& links : node.links) {
    writer.number(static_cast<std::uint8_t>(links.size()));
    for (const std::uint32_t to : links)
      writer.number(to);
  }
}

RegionGraph::Node read_node(ByteReader& reader) {
  RegionGraph::Node node;
  node.links.resize(reader.number<std::uint8_t>());
  for (auto& links : node.links) {
    links.resize(reader.number<std::uint8_t>());
    for (std::uint32_t& to : links)
      to = reader.number<std::uint32_t>();
  }
  return node;
}

Status read_nodes(const Record& record, std::vector<RegionGraph::Node>& nodes) {
  ByteReader reader(record.payload);
  const auto count = reader.number<std::uint32_t>();
  for (std::uint32_t i = 0; i < count && !reader.overrun(); ++i)
    nodes.push_back(read_node(reader));
  if (!reader.complete()) return failure("not a part of a graph in the record at byte {}", record.offset);
  return {};
}

}  // namespace

std::vector<std::byte> folder_payload(std::string_view folder) {
  ByteWriter writer;
  writer.number(std::uint32_t{feature_version});
  writer.text(folder);
  return writer.bytes();
}

Result<std::string> folder_from(const Record& record) {
  ByteReader reader(record.payload);
  const auto features = reader.number<std::uint32_t>();
  std::string folder = reader.text();
  if (record.kind != static_cast<std::uint32_t>(RecordKind::folder) || !reader.complete() ||
      !folder.starts_with('/'))
    return failure("no folder in the record at byte {}", record.offset);
  if (features != feature_version)
    return failure("made with features of version {}, and this program has version {}", features,
                   feature_version);
  return folder;
}

std::vector<std::byte> image_payload(const IndexedImage& image) {
  ByteWriter writer;
  writer.text(image.name);
  writer.number(image.bytes);
  writer.number(image.modified_ns);
  writer.number(static_cast<std::uint32_t>(image.regions.size()));
  for (const Region& region : image.regions) {
    for (const float feature : region.features)
      writer.number(feature);
    writer.number(region.weight);
  }
  return writer.bytes();
}

Result<IndexedImage> image_from(const Record& record) {
  ByteReader reader(record.payload);
  IndexedImage image;
  image.name = reader.text();
  image.bytes = reader.number<std::uint64_t>();
  image.modified_ns = reader.number<std::int64_t>();
  const auto regions = reader.number<std::uint32_t>();
  bool sound = record.kind == static_cast<std::uint32_t>(RecordKind::image) && !image.name.empty() &&
               regions > 0 && regions <= most_regions_of_image &&
               reader.left() == std::size_t{regions} * (feature_count + 1) * sizeof(float);
  float weights = 0;
  for (std::uint32_t i = 0; sound && i < regions; ++i) {
    Region region;
    for (float& feature : region.features) {
      feature = reader.number<float>();
      sound = sound && std::abs(feature) <= largest_feature;
    }
    region.weight = reader.number<float>();
    sound = sound && region.weight > 0 && region.weight <= 1;
    weights += region.weight;
    image.regions.push_back(region);
  }
  if (!sound || std::abs(weights - 1) > 1e-3F)
    return failure("no image in the record at byte {}", record.offset);
  return image;
}

std::vector<std::byte> index_bytes(const ImageIndex& index) {
  std::vector<std::byte> file = file_start(index_mark, index_version);
  append(file, RecordKind::folder, folder_payload(index.folder()));
  for (const IndexedImage& image : index.images())
    append(file, RecordKind::image, image_payload(image));
  for (std::size_t first = 0; first < index.graph().size(); first += nodes_per_record) {
    const std::size_t count = std::min(nodes_per_record, index.graph().size() - first);
    ByteWriter writer;
    writer.number(static_cast<std::uint32_t>(count));
    for (std::size_t i = first; i < first + count; ++i)
      write_node(writer, index.graph().node(i));
    append(file, RecordKind::graph, writer.bytes());
  }
  // Without this record the file counts as truncated.
  append(file, RecordKind::end, {});
  return file;
}

Result<ImageIndex> index_from(std::span<const std::byte> file) {
  auto reader = RecordReader::open(file, index_mark, index_version, "index of millrace-similar");
  if (!reader) return std::unexpected(reader.error());
  auto first = reader->next();
  if (!first) return std::unexpected(first.error());
  if (!*first) return failure("cut short at byte {}", file.size());
  auto folder = folder_from(**first);
  if (!folder) return std::unexpected(folder.error());

  std::vector<IndexedImage> images;
  std::vector<Features> features;
  std::vector<RegionGraph::Node> nodes;
  for (;;) {
    const auto record = reader->next();
    if (!record) return std::unexpected(record.error());
    if (!*record) return failure("cut short at byte {}", file.size());
    const auto kind = static_cast<RecordKind>((*record)->kind);
    if (kind == RecordKind::end) break;
    if (kind == RecordKind::graph) {
      if (Status read = read_nodes(**record, nodes); !read) return std::unexpected(read.error());
      continue;
    }
    auto image = image_from(**record);
    if (!image) return std::unexpected(image.error());
    for (const Region& region : image->regions)
      features.push_back(region.features);
    images.push_back(std::move(*image));
  }
  if (reader->offset() != file.size())
    return failure("followed by something else at byte {}", reader->offset());
  auto graph = RegionGraph::restored(features, nodes);
  if (!graph) return std::unexpected(graph.error());
  return ImageIndex(std::move(*folder), std::move(images), std::move(*graph));
}

}  // namespace millrace::similar
