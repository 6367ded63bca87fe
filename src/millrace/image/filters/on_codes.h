// Runs a filter on code values instead of [0,1].
#pragma once

#include "millrace/image/filter/filter.h"

#include <string>
#include <variant>

namespace millrace::image::filters {

// For filters whose every output is an input pixel or a border value, selected by position and order alone.
// Conversions preserve order, so such filters can select among codes, which are smaller.
template <class F, ElementType type> struct OnCodes : F {
  static Filter about() {
    Filter filter = F::about();
    static const std::string name = std::string(filter.name) + (type == ElementType::u8 ? "_8" : "_16");
    filter.name = name;
    auto& simple = std::get<SimpleFilter>(filter.kind);
    simple.input_type = simple.output_type = type;
    return filter;
  }
};

}  // namespace millrace::image::filters
