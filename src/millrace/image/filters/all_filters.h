// Every filter that a pipeline may name: a new one is added here, its header and a line of its own.
#pragma once

#include "millrace/image/filters/binary.h"
#include "millrace/image/filters/blur.h"
#include "millrace/image/filters/convert.h"
#include "millrace/image/filters/crop.h"
#include "millrace/image/filters/discretise.h"
#include "millrace/image/filters/magnitude.h"
#include "millrace/image/filters/rotate.h"
#include "millrace/image/filters/sobel_x.h"
#include "millrace/image/filters/sobel_y.h"
#include "millrace/image/filters/threshold.h"
#include "millrace/image/filters/undistort.h"

namespace millrace::image {

// Filter types as a value, for visiting them in turn.
template <class... Filters> struct FilterList {
  template <class Visitor> static void visit(Visitor&& visitor) {
    (visitor.template operator()<Filters>(), ...);
  }
};

using NamedFilters = FilterList<  //
    filters::Binary,              //
    filters::Blur,                //
    filters::Crop,                //
    filters::Discretise,          //
    filters::Magnitude,           //
    filters::Rotate,              //
    filters::SobelX,              //
    filters::SobelY,              //
    filters::Threshold,           //
    filters::Undistort>;

// What stands at the ends of a graph, which pipelines do not name.
using Conversions =
    FilterList<filters::Load8, filters::Load16, filters::Store8, filters::Store16, filters::Copy>;

}  // namespace millrace::image
