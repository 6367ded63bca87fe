// The filters of this program, as values.
#pragma once

#include "millrace/image/filter/filter.h"

#include <span>
#include <string_view>
#include <vector>

namespace millrace::image {

// All filters a pipeline may name, sorted by name.
[[nodiscard]] std::span<const Filter> all_filters();
// Their names, in the same order.
[[nodiscard]] std::vector<std::string_view> filter_names();
// nullptr where there is none.
[[nodiscard]] const Filter* find_filter(std::string_view name);
// The same with filters that a pipeline has of its own.
[[nodiscard]] std::vector<std::string_view> filter_names(std::span<const FilterRef> own);
[[nodiscard]] FilterRef find_filter(std::string_view name, std::span<const FilterRef> own);

// What pipelines do not name: the parts of composed filters, and what stands at the ends of graphs.
[[nodiscard]] std::span<const Filter> unnamed_filters();
// Any filter that is not composed, which are those with kernels; nullptr where there is none.
[[nodiscard]] const Filter* find_simple_filter(std::string_view name);

// The conversions at the ends of a graph: code values to [0,1] and back. Not named in pipelines.
[[nodiscard]] const Filter& load_filter(ElementType type);
[[nodiscard]] const Filter& store_filter(ElementType type);
// The same filter on code values of this type, where it only chooses among pixels; nullptr for any other.
[[nodiscard]] const Filter* on_codes(const Filter& filter, ElementType type);
// Of a plane of floats that nothing is done to.
[[nodiscard]] const Filter& copy_filter();

}  // namespace millrace::image
