// Index files: an ImageIndex as bytes. The layout is described in docs/similar.md.
#pragma once

#include "millrace/base/result.h"
#include "similar/index/image_index.h"
#include "similar/index/record_format.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace millrace::similar {

inline constexpr std::string_view index_mark = "millrace-similar";
inline constexpr std::uint32_t index_version = 1;

// Kinds of records. A journal has the first two.
enum class RecordKind : std::uint32_t { folder = 1, image = 2, graph = 3, end = 4 };

[[nodiscard]] std::vector<std::byte> index_bytes(const ImageIndex& index);

// Reads what index_bytes() makes. A failure says what is wrong and where without naming the file.
[[nodiscard]] Result<ImageIndex> index_from(std::span<const std::byte> file);

// The payloads of two kinds of records.
[[nodiscard]] std::vector<std::byte> folder_payload(std::string_view folder);
[[nodiscard]] std::vector<std::byte> image_payload(const IndexedImage& image);
// Failure when the record is none of the kind, or its features are not of this program's feature_version.
[[nodiscard]] Result<std::string> folder_from(const Record& record);
[[nodiscard]] Result<IndexedImage> image_from(const Record& record);

}  // namespace millrace::similar
