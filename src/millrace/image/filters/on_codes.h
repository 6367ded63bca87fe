// The same filter on code values as they are, instead of on [0,1].
#pragma once

#include "millrace/image/filter/filter.h"

#include <string>

namespace millrace::image::filters {

// Of a filter whose every pixel is one of those it reads, or a border, chosen by place and order alone: since
// conversions keep the order, it may as well choose among codes, which are smaller.
template <class F, ElementType type> struct OnCodes : F {
  static Filter about() {
    Filter filter = F::about();
    static const std::string name = std::string(filter.name) + (type == ElementType::u8 ? "_8" : "_16");
    filter.name = name;
    filter.input_type = filter.output_type = type;
    return filter;
  }
};

}  // namespace millrace::image::filters
