// The built-in filters, as values.
#pragma once

#include "millrace/image/filter/filter.h"

#include <span>
#include <string_view>
#include <vector>

namespace millrace::image {

// All filters that a pipeline may name, sorted by name.
[[nodiscard]] std::span<const Filter> all_filters();
// Their names, in the same order.
[[nodiscard]] std::vector<std::string_view> filter_names();
// nullptr if there is none of this name.
[[nodiscard]] const Filter* find_filter(std::string_view name);
// The same, including the pipeline's own filters.
[[nodiscard]] std::vector<std::string_view> filter_names(std::span<const FilterRef> own);
[[nodiscard]] FilterRef find_filter(std::string_view name, std::span<const FilterRef> own);

// Filters that pipelines cannot name: parts of composed filters, and conversions at the ends of graphs.
[[nodiscard]] std::span<const Filter> unnamed_filters();
// Any filter that is not composed, and so has kernels; nullptr if there is none of this name.
[[nodiscard]] const Filter* find_simple_filter(std::string_view name);

// The conversions at the ends of a graph: code values to [0,1] and back. Pipelines cannot name them.
[[nodiscard]] const Filter& load_filter(ElementType type);
[[nodiscard]] const Filter& store_filter(ElementType type);
// The same filter on code values of this type if it only selects pixels, else nullptr.
[[nodiscard]] const Filter* on_codes(const Filter& filter, ElementType type);
// Copies a plane of floats that no filter changes.
[[nodiscard]] const Filter& copy_filter();

}  // namespace millrace::image
