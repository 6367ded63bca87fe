// Lists every built-in filter. To add one, include its header and add a line here.
#pragma once

#include "millrace/image/filters/absolute_difference.h"
#include "millrace/image/filters/bilateral.h"
#include "millrace/image/filters/binary.h"
#include "millrace/image/filters/blend.h"
#include "millrace/image/filters/blend_contrast.h"
#include "millrace/image/filters/blend_extremes.h"
#include "millrace/image/filters/blend_product.h"
#include "millrace/image/filters/block_mean.h"
#include "millrace/image/filters/blur.h"
#include "millrace/image/filters/box.h"
#include "millrace/image/filters/box_columns.h"
#include "millrace/image/filters/box_rows.h"
#include "millrace/image/filters/code_block_mean.h"
#include "millrace/image/filters/code_blur.h"
#include "millrace/image/filters/code_box.h"
#include "millrace/image/filters/code_convolve.h"
#include "millrace/image/filters/code_extremes.h"
#include "millrace/image/filters/code_patch.h"
#include "millrace/image/filters/code_product.h"
#include "millrace/image/filters/code_resample.h"
#include "millrace/image/filters/code_rows.h"
#include "millrace/image/filters/code_sum.h"
#include "millrace/image/filters/column_extreme.h"
#include "millrace/image/filters/column_sum.h"
#include "millrace/image/filters/convert.h"
#include "millrace/image/filters/convolve.h"
#include "millrace/image/filters/crop.h"
#include "millrace/image/filters/crop_at.h"
#include "millrace/image/filters/curve.h"
#include "millrace/image/filters/deinterlace.h"
#include "millrace/image/filters/difference.h"
#include "millrace/image/filters/discretise.h"
#include "millrace/image/filters/exaggerate.h"
#include "millrace/image/filters/field_rows.h"
#include "millrace/image/filters/flip.h"
#include "millrace/image/filters/gaussian.h"
#include "millrace/image/filters/levels.h"
#include "millrace/image/filters/lookup_8.h"
#include "millrace/image/filters/magnitude.h"
#include "millrace/image/filters/median.h"
#include "millrace/image/filters/median3.h"
#include "millrace/image/filters/median5.h"
#include "millrace/image/filters/middle_of_3.h"
#include "millrace/image/filters/middle_of_5.h"
#include "millrace/image/filters/mirror_columns.h"
#include "millrace/image/filters/mirror_rows.h"
#include "millrace/image/filters/mix.h"
#include "millrace/image/filters/morphology.h"
#include "millrace/image/filters/moving_rows.h"
#include "millrace/image/filters/on_codes.h"
#include "millrace/image/filters/overlay.h"
#include "millrace/image/filters/pad.h"
#include "millrace/image/filters/patch.h"
#include "millrace/image/filters/perspective.h"
#include "millrace/image/filters/place.h"
#include "millrace/image/filters/resample_x.h"
#include "millrace/image/filters/resample_y.h"
#include "millrace/image/filters/resize.h"
#include "millrace/image/filters/rgb2yuv.h"
#include "millrace/image/filters/rotate.h"
#include "millrace/image/filters/row_extreme.h"
#include "millrace/image/filters/row_sum.h"
#include "millrace/image/filters/saturate.h"
#include "millrace/image/filters/sobel_x.h"
#include "millrace/image/filters/sobel_y.h"
#include "millrace/image/filters/swap_axes.h"
#include "millrace/image/filters/temporal_average.h"
#include "millrace/image/filters/temporal_median.h"
#include "millrace/image/filters/threshold.h"
#include "millrace/image/filters/transpose.h"
#include "millrace/image/filters/undistort.h"
#include "millrace/image/filters/unsharp.h"
#include "millrace/image/filters/weighted_sum.h"
#include "millrace/image/filters/yuv2rgb.h"

namespace millrace::image {

// Lists filter types and visits them in turn.
template <class... Filters> struct FilterList {
  template <class Visitor> static void visit(Visitor&& visitor) {
    (visitor.template operator()<Filters>(), ...);
  }
};

// Filters that pipelines may name and that have arithmetic of their own.
using NamedFilters = FilterList<  //
    filters::Bilateral,           //
    filters::Binary,              //
    filters::Blur,                //
    filters::Convolve,            //
    filters::Crop,                //
    filters::CropAt,              //
    filters::Curve,               //
    filters::Discretise,          //
    filters::Levels,              //
    filters::Magnitude,           //
    filters::Pad,                 //
    filters::Perspective,         //
    filters::Rotate,              //
    filters::Saturate,            //
    filters::SobelX,              //
    filters::SobelY,              //
    filters::Threshold,           //
    filters::Undistort>;

// Filters that pipelines may name and that are composed of others.
using ComposedFilters = FilterList<  //
    filters::Blend,                  //
    filters::Box,                    //
    filters::Deinterlace,            //
    filters::Difference,             //
    filters::Flip,                   //
    filters::Gaussian,               //
    filters::Median,                 //
    filters::Morphology,             //
    filters::Overlay,                //
    filters::Resize,                 //
    filters::Rgb2Yuv,                //
    filters::TemporalAverage,        //
    filters::TemporalMedian,         //
    filters::Transpose,              //
    filters::Unsharp,                //
    filters::Yuv2Rgb>;

// Parts, used only by composed filters.
using PartFilters = FilterList<   //
    filters::AbsoluteDifference,  //
    filters::BlendContrast,       //
    filters::BlendExtremes,       //
    filters::BlendProduct,        //
    filters::BlockMean<2>,        //
    filters::BlockMean<3>,        //
    filters::BlockMean<4>,        //
    filters::BoxColumns,          //
    filters::BoxRows,             //
    filters::ColumnExtreme,       //
    filters::ColumnSum,           //
    filters::Exaggerate,          //
    filters::FieldRows,           //
    filters::Lookup8,             //
    filters::Median3,             //
    filters::Median5,             //
    filters::MiddleOf3,           //
    filters::MiddleOf5,           //
    filters::MirrorColumns,       //
    filters::MirrorRows,          //
    filters::Mix,                 //
    filters::MovingRows,          //
    filters::Patch,               //
    filters::Place,               //
    filters::ResampleX,           //
    filters::ResampleY,           //
    filters::RowExtreme,          //
    filters::RowSum,              //
    filters::SwapAxes,            //
    filters::WeightedSum>;

// Conversions at the ends of a graph.
using Conversions =
    FilterList<filters::Load8, filters::Load16, filters::Store8, filters::Store16, filters::Copy>;

// Filters that only select pixels, so that they can work on codes too: see on_codes.h.
using ChoosingFilters = FilterList<  //
    filters::ColumnExtreme,          //
    filters::Copy,                   //
    filters::Crop,                   //
    filters::CropAt,                 //
    filters::Median3,                //
    filters::Median5,                //
    filters::MiddleOf3,              //
    filters::MiddleOf5,              //
    filters::MirrorColumns,          //
    filters::MirrorRows,             //
    filters::Pad,                    //
    filters::Place,                  //
    filters::RowExtreme,             //
    filters::SwapAxes>;

// Code versions of filters, which name them in `codes`.
template <ElementType type>
using CodeFiltersOf = FilterList<     //
    filters::CodeBlockMean<2, type>,  //
    filters::CodeBlockMean<3, type>,  //
    filters::CodeBlockMean<4, type>,  //
    filters::CodeBlur<type>,          //
    filters::CodeExtremes<type>,      //
    filters::CodeFieldRows<type>,     //
    filters::CodeMovingRows<type>,    //
    filters::CodePatch<type>,         //
    filters::CodeSum<type>>;
using CodeFiltersOf8 = FilterList<  //
    filters::CodeBoxColumns,        //
    filters::CodeBoxRows,           //
    filters::CodeConvolve,          //
    filters::CodeProduct,           //
    filters::CodeResample<filters::ResampleX, true>, filters::CodeResample<filters::ResampleX, false>,
    filters::CodeResample<filters::ResampleY, true>, filters::CodeResample<filters::ResampleY, false>>;

template <class Visitor> void visit_code_filters(Visitor&& visitor) {
  CodeFiltersOf<ElementType::u8>::visit(visitor);
  CodeFiltersOf<ElementType::u16>::visit(visitor);
  CodeFiltersOf8::visit(visitor);
}

template <class Visitor> void visit_on_codes(Visitor&& visitor) {
  ChoosingFilters::visit([&]<class F>() {
    visitor.template operator()<filters::OnCodes<F, ElementType::u8>>();
    visitor.template operator()<filters::OnCodes<F, ElementType::u16>>();
  });
}

// Visits all filters that have arithmetic of their own and therefore kernels.
template <class Visitor> void visit_simple_filters(Visitor&& visitor) {
  NamedFilters::visit(visitor);
  PartFilters::visit(visitor);
  Conversions::visit(visitor);
  visit_on_codes(visitor);
  visit_code_filters(visitor);
}

}  // namespace millrace::image
