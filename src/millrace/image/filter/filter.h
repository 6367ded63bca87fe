// Defines a filter: name, typed parameters, output size, footprint (the input needed for a region of output)
// and arithmetic. A filter is one struct in filters/, written once as a template over an algebra (see
// algebra.h). The kernels of every instruction set, fused kernels, the scalar reference and the counter of
// pixel reads are made from it. A filter may also be composed of such filters. docs/extending.md walks
// through one.
#pragma once

#include "millrace/base/error/result.h"
#include "millrace/image/filter/coefficients.h"
#include "millrace/image/filter/geometry.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace millrace::image {

enum class ParameterType {
  real,
  integer,
  choice,
  list,  // any number of numbers; only as a filter's last parameter, and always required
};

// One parameter of a filter, with the range that the pipeline language enforces.
struct Parameter {
  std::string_view name;
  std::string_view summary;
  std::string_view unit;  // "degrees", "levels", ...; empty for a plain number
  ParameterType type = ParameterType::real;
  double minimum = 0;  // for a list: of each number
  double maximum = 1;
  bool required = true;
  double fallback = 0;                    // default value, unless required
  std::vector<std::string_view> choices;  // names of the values 0, 1, ... of a choice
  std::size_t least = 1;                  // minimum length of a list
  std::size_t most = 1;
};

// Values in the order of the filter's parameters; a choice is its index. Values after those of the other
// parameters belong to the list, if the filter has one.
using ParameterValues = std::vector<double>;

// Kind of samples in a plane. RGB planes have the size of luma and are filtered like it.
enum class PlaneRole { luma, chroma, rgb };

// How codes of Y'CbCr are to be interpreted, as needed to convert them to RGB.
struct ColorCoding {
  int matrix = 2;  // number in ITU-T H.273; 2: unknown
  bool full_range = false;
  int bits = 8;

  bool operator==(const ColorCoding&) const = default;
};

// A plane as a filter sees it. The planes of a frame are separate images; `step` relates them.
struct PlaneGeometry {
  Size size;       // of this plane
  Size luma;       // of the luma plane of the same frame
  int step_x = 1;  // luma samples per sample of this plane: 1 or 2
  int step_y = 1;
  int frame_step_x = 1;  // luma samples per chroma sample of the frame: the granularity of `crop`
  int frame_step_y = 1;
  float fill = 0.0F;  // the value outside the frame: 0 for luma, 0.5 for chroma
  float gray = 0.0F;  // chroma without colour: 128/255 for 8 bits, 0.5 for floats; 0 for luma
  // Sample aspect ratio, width to height, 0:1 if unknown. Adjusted on resize so that a picture keeps its
  // displayed width.
  std::int64_t aspect_numerator = 0;
  std::int64_t aspect_denominator = 1;
  bool bottom_first = false;  // frames hold two fields, and the one shown first has the odd rows
  PlaneRole role = PlaneRole::luma;
  ColorCoding color;

  bool operator==(const PlaneGeometry&) const = default;
};

// How an output pixel relates to the input. Decides what can be fused without computing anything twice.
enum class Access {
  pointwise,  // the pixel at the same place, or at a constant offset
  stencil,    // the pixels around it, at most 3x3
  window,     // a larger neighbourhood, or a different pace: its input is stored, not inlined
  gather,     // places that depend on the position of the pixel
};
// Whether it reads pixels at constant distances, so that only pixels near an edge reach past it.
[[nodiscard]] constexpr bool reads_around(Access access) {
  return access == Access::stencil || access == Access::window;
}

enum class ElementType { u8, u16, f32 };
[[nodiscard]] int bytes_of(ElementType type);

// What a filter does to chroma by default. Chroma is a distance from gray, not light, and few filters are
// meaningful for it.
enum class ChromaDefault {
  filtered,  // filtered like luma
  passes,    // unchanged
  neutral,   // becomes and stays gray: the filter's result is a measure, not a picture
};
[[nodiscard]] std::string_view name_of(ChromaDefault chroma);

// Colour model of the planes that a filter produces.
enum class ColorModel { as_input, ycbcr, rgb };

// Number of frames read before and after the current one. Past either end of the video its first or last
// frame is repeated.
struct NeighbouringFrames {
  int before = 0;
  int after = 0;

  bool operator==(const NeighbouringFrames&) const = default;
};
inline constexpr int max_neighbouring_frames = 32;  // in a whole pipeline, on either side

class Formula;
class ScalarAlgebra;
struct Filter;

// A filter on codes that replaces a stage whose input is codes, with its coefficients.
struct CodeFilter {
  const Filter* filter = nullptr;
  Coefficients coefficients{};
  bool computes = true;  // calculates with its input, which must not be rounded; else it only selects pixels
  bool rounds = true;    // its result is rounded for storing: other stages would get a different number
};

// A reference to a filter, used by pipelines and everything made from them. Built-in filters live as long as
// the process; others are kept alive by their references.
class FilterRef {
 public:
  FilterRef(const Filter* lasting = nullptr) : filter_(std::shared_ptr<const Filter>(), lasting) {}
  FilterRef(std::shared_ptr<const Filter> held) : filter_(std::move(held)) {}

  operator const Filter*() const { return filter_.get(); }
  const Filter* operator->() const { return filter_.get(); }
  const Filter& operator*() const { return *filter_; }

 private:
  std::shared_ptr<const Filter> filter_;  // without an owner if the filter is built in
};

// One use of a filter within a composed one.
struct Part {
  FilterRef filter;  // not itself composed
  ParameterValues values;
  // Indices of earlier parts, or -1-k for input k of the composed filter. If that reads neighbouring frames,
  // input k is the frame k after the first of them.
  std::vector<int> inputs{-1};
};

// A plane made from several. Input -1-k of a part is plane k of the input; the last part makes the result.
struct PlaneMix {
  PlaneGeometry output;
  std::vector<Part> parts;
};

// A simple filter: each pixel of a plane is computed from pixels of the planes that it reads. It has kernels.
struct SimpleFilter {
  bool has_table = false;      // its coefficients include a table
  int value_coefficient = -1;  // index of the coefficient that is a pixel value, or -1
  ElementType input_type = ElementType::f32;
  ElementType output_type = ElementType::f32;
  Access access = Access::pointwise;
  bool value_function = false;  // pointwise, and independent of the pixel's position

  std::function<Coefficients(const PlaneGeometry& input, const ParameterValues& values)> coefficients;
  // The input pixels that the given output pixels read, before clamping to the frame; may be a superset. If
  // it is inside the frame, no output pixel touches an edge.
  std::function<Rect(const Rect& output, const PlaneGeometry& input, const Coefficients& coefficients)>
      footprint;
  // The equivalent filter on codes up to `maximum` for these coefficients, or nothing if none produces the
  // nearest code. May be null.
  std::optional<CodeFilter> (*codes)(const Coefficients& coefficients, int maximum) = nullptr;
  // The value of one pixel; reads go through the algebra.
  std::function<float(ScalarAlgebra& algebra, int x, int y)> pixel;
  // What `pixel` computes if the filter is made at run time, see formula_filter.h; null if it is built in.
  std::shared_ptr<const Formula> formula;

  // Whether it turns code values into code values, see on_codes.h.
  [[nodiscard]] bool on_codes() const {
    return input_type != ElementType::f32 && output_type != ElementType::f32;
  }
};

// A filter composed of simple ones, which every plane passes through.
struct ComposedFilter {
  bool sizes_may_differ = false;  // inputs of different sizes are accepted; the parts handle them, and
                                  // `output` gets the first one's size
  // Never empty; the last part makes the output. Takes the geometry of each input.
  std::function<std::vector<Part>(std::span<const PlaneGeometry> inputs, const ParameterValues& values)>
      parts;
  // The neighbouring frames that it reads; null if it reads none.
  std::function<NeighbouringFrames(const ParameterValues& values)> frames;
};

// A filter composed of simple ones that makes each plane from several input planes.
struct MixingFilter {
  // The geometry and parts of plane `plane`. planes: all input planes (three for RGB), or luma alone if there
  // is no colour.
  Result<PlaneMix> (*mix)(int plane, std::span<const PlaneGeometry> planes,
                          const ParameterValues& values) = nullptr;
};

// A filter with its type erased. Every function is pure and safe to call from any thread.
struct Filter {
  std::string_view name;
  std::string_view summary;
  int inputs = 1;
  bool geometric = false;  // moves pixels: applied to chroma even if only luma is filtered
  ChromaDefault chroma = ChromaDefault::filtered;
  bool luma_passes = false;        // changes chroma only
  bool makes_progressive = false;  // turns frames that hold two fields into progressive ones
  ColorModel color = ColorModel::as_input;
  std::variant<SimpleFilter, ComposedFilter, MixingFilter> kind;
  std::vector<Parameter> parameters;

  // Geometry of the output plane. Returns an error if the plane is too small for the filter.
  std::function<Result<PlaneGeometry>(const PlaneGeometry& input, const ParameterValues& values)> output;

  // Null if the filter is of another kind.
  [[nodiscard]] const SimpleFilter* if_simple() const { return std::get_if<SimpleFilter>(&kind); }
  [[nodiscard]] const ComposedFilter* if_composed() const { return std::get_if<ComposedFilter>(&kind); }
  [[nodiscard]] const MixingFilter* if_mixing() const { return std::get_if<MixingFilter>(&kind); }
  // Call it for simple filters only: stages and parts are.
  [[nodiscard]] const SimpleFilter& simple() const { return std::get<SimpleFilter>(kind); }

  // The neighbouring frames that it reads with these parameters.
  [[nodiscard]] NeighbouringFrames frames_read(const ParameterValues& values) const;
  // Key for stored kernels and tuning results: the name, or the formula's identity.
  [[nodiscard]] std::string_view identity() const;
};

}  // namespace millrace::image
