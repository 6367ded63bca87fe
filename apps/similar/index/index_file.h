// Index files: an ImageIndex as bytes. docs/similar.md describes the layout.
#pragma once

#include "millrace/base/error/result.h"
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

// Kinds of records. A journal uses the first two.
enum class RecordKind : std::uint32_t { folder = 1, image = 2, graph = 3, end = 4 };

[[nodiscard]] std::vector<std::byte> index_bytes(const ImageIndex& index);

// Reads what index_bytes() writes. A failure gives the problem and its position but not the file's name.
[[nodiscard]] Result<ImageIndex> index_from(std::span<const std::byte> file);

// Payloads of two kinds of records.
[[nodiscard]] std::vector<std::byte> folder_payload(std::string_view folder);
[[nodiscard]] std::vector<std::byte> image_payload(const IndexedImage& image);
// Failure if the record is of another kind, or if its features have another feature_version.
[[nodiscard]] Result<std::string> folder_from(const Record& record);
[[nodiscard]] Result<IndexedImage> image_from(const Record& record);

}  // namespace millrace::similar
