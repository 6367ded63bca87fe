// What a filter is: a name, typed parameters, the size of what it makes, the input it needs for a region of
// output, and its arithmetic. A filter is one struct in filters/, written once as a template over an algebra
// (see algebra.h), from which come the kernels of every instruction set, fused kernels, the scalar reference
// and the counter of pixel reads; or it is composed of such filters. docs/extending.md walks through one.
#pragma once

#include "millrace/base/result.h"
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
#include <vector>

namespace millrace::image {

enum class ParameterType {
  real,
  integer,
  choice,
  list,  // numbers, as many as the user likes; only the last parameter of a filter, and always required
};

// One parameter of a filter, with the range that the pipeline language enforces.
struct Parameter {
  std::string_view name;
  std::string_view summary;
  std::string_view unit;  // "degrees", "levels", ...; empty for a plain number
  ParameterType type = ParameterType::real;
  double minimum = 0;  // of each number of a list
  double maximum = 1;
  bool required = true;
  double fallback = 0;                    // the value where it is not given
  std::vector<std::string_view> choices;  // names of the values 0, 1, ... of a choice
  std::size_t least = 1;                  // numbers of a list
  std::size_t most = 1;
};

// Values in the order of the filter's parameters; a choice is its index. All that follows those of the other
// parameters belongs to the list, where the filter takes one.
using ParameterValues = std::vector<double>;

// What the samples of a plane are. Planes of RGB are as large as luma, and filtered like it.
enum class PlaneRole { luma, chroma, rgb };

// How codes of Y'CbCr are meant: what it takes to make RGB of them.
struct ColorCoding {
  int matrix = 2;  // number in ITU-T H.273; 2: not known
  bool full_range = false;
  int bits = 8;

  bool operator==(const ColorCoding&) const = default;
};

// A plane as a filter sees it. The planes of a frame are images of their own; `step` relates them.
struct PlaneGeometry {
  Size size;       // of this plane
  Size luma;       // of the luma plane of the same frame
  int step_x = 1;  // luma samples for each sample of this plane: 1 or 2
  int step_y = 1;
  int frame_step_x = 1;  // luma samples for each chroma sample of the frame: what `crop` keeps whole
  int frame_step_y = 1;
  float fill = 0.0F;  // the value outside the frame: 0 for luma, 0.5 for chroma
  float gray = 0.0F;  // the value of chroma that has no colour: 128/255 of 8 bits, 0.5 of floats; 0 for luma
  // The shape of the frame's samples, width to height, 0:1 when not known: what keeps a picture as wide as it
  // was shown when it gets another size.
  std::int64_t aspect_numerator = 0;
  std::int64_t aspect_denominator = 1;
  bool bottom_first = false;  // frames hold two fields, and the one that is shown first has the odd rows
  PlaneRole role = PlaneRole::luma;
  ColorCoding color;

  bool operator==(const PlaneGeometry&) const = default;
};

// How an output pixel relates to the input: decides what may be fused without computing anything twice.
enum class Access {
  pointwise,  // the pixel at the same place, or at a constant offset
  stencil,    // the pixels around, at most 3x3
  window,  // a larger neighbourhood, or one that moves at another pace: what it reads is stored, not inlined
  gather,  // places that depend on where the pixel is
};
// Whether it reads pixels at constant distances, which reach past an edge near the edge only.
[[nodiscard]] constexpr bool reads_around(Access access) {
  return access == Access::stencil || access == Access::window;
}

enum class ElementType { u8, u16, f32 };
[[nodiscard]] int bytes_of(ElementType type);

// What a filter makes of chroma where the user does not ask for more: how far from gray a sample is is not
// light, and few filters mean something for it.
enum class ChromaDefault {
  filtered,  // the filter works on it as on luma
  passes,    // it stays as it is
  neutral,   // it becomes gray, and stays so: the filter's result is a measure, not a picture
};
[[nodiscard]] std::string_view name_of(ChromaDefault chroma);

// What the planes are that a filter makes.
enum class ColorModel { as_input, ycbcr, rgb };

// Frames that a filter reads beside the one it makes. Before the first frame of a video and after its last
// one that frame stands still.
struct NeighbouringFrames {
  int before = 0;
  int after = 0;
};
inline constexpr int max_neighbouring_frames = 32;  // in a whole pipeline, on either side

class Formula;
class ScalarAlgebra;
struct Filter;
struct Part;
struct PlaneMix;

// What stands for a stage where codes are read: a filter that makes codes of codes, with its numbers.
struct CodeFilter {
  const Filter* filter = nullptr;
  Coefficients coefficients{};
  bool computes = true;  // with what it reads, which may be no rounded number therefore; else it only chooses
  bool rounds = true;    // what comes out is to be stored: to others it would be another number
};

// A filter with its type erased. Every function is pure and safe to call from any thread.
struct Filter {
  std::string_view name;
  std::string_view summary;
  int inputs = 1;
  Access access = Access::pointwise;
  bool value_function = false;  // pointwise, and the place itself is of no account
  bool geometric = false;       // moves pixels: applied to chroma even where only luma is filtered
  ChromaDefault chroma = ChromaDefault::filtered;
  bool luma_passes = false;        // works on chroma alone
  bool makes_progressive = false;  // of frames that hold two fields
  ColorModel color = ColorModel::as_input;
  bool has_table = false;  // its coefficients come with a table
  bool sizes_may_differ =
      false;                   // of its inputs; its parts see to that. The first one's is handed to `output`
  int value_coefficient = -1;  // the coefficient that is the value of a pixel; -1: none is
  ElementType input_type = ElementType::f32;
  ElementType output_type = ElementType::f32;
  std::vector<Parameter> parameters;

  // Geometry of the output plane; an error where the plane is too small for the filter.
  std::function<Result<PlaneGeometry>(const PlaneGeometry& input, const ParameterValues& values)> output;
  std::function<Coefficients(const PlaneGeometry& input, const ParameterValues& values)> coefficients;
  // The input pixels that the given output pixels read, before they are clamped to the frame: a superset.
  // Where it lies inside the frame, no output pixel touches an edge.
  std::function<Rect(const Rect& output, const PlaneGeometry& input, const Coefficients& coefficients)>
      footprint;
  // What does the same on codes up to `maximum`, with these coefficients: nothing where there is none that
  // makes the nearest code. May be null.
  std::optional<CodeFilter> (*codes)(const Coefficients& coefficients, int maximum) = nullptr;
  // The value of one pixel; reads go through the algebra.
  std::function<float(ScalarAlgebra& algebra, int x, int y)> pixel;

  // Of a filter that is composed of others, instead of the three above: what a plane goes through, the last
  // part making the output. Not empty. `access` is of no meaning then. The geometry of each of its inputs.
  std::function<std::vector<Part>(std::span<const PlaneGeometry> inputs, const ParameterValues& values)>
      parts;
  // Of one whose planes are each made of several planes of its input, instead of `parts`: what plane `plane`
  // is, and what goes into it. planes: all of the input's, three of RGB; luma alone where there is no colour.
  Result<PlaneMix> (*mix)(int plane, std::span<const PlaneGeometry> planes,
                          const ParameterValues& values) = nullptr;
  [[nodiscard]] bool composed() const { return parts != nullptr || mix != nullptr; }
  // Whether it makes code values of code values, see on_codes.h.
  [[nodiscard]] bool on_codes() const {
    return input_type != ElementType::f32 && output_type != ElementType::f32;
  }
  // Of a composed filter that reads its input at other times too; null: none.
  std::function<NeighbouringFrames(const ParameterValues& values)> frames;

  // The arithmetic of a filter that is none of this program's but was made at run time, see formula_filter.h.
  std::shared_ptr<const Formula> formula;
  // By which kernels and what runs have learnt are kept: the name, or what the formula is.
  [[nodiscard]] std::string_view identity() const;
};

// A filter as pipelines hold it, and all that is made of them: one of this program's, which live as long as
// the process, or one that lives as long as anybody holds it.
class FilterRef {
 public:
  FilterRef(const Filter* lasting = nullptr) : filter_(std::shared_ptr<const Filter>(), lasting) {}
  FilterRef(std::shared_ptr<const Filter> held) : filter_(std::move(held)) {}

  operator const Filter*() const { return filter_.get(); }
  const Filter* operator->() const { return filter_.get(); }
  const Filter& operator*() const { return *filter_; }

 private:
  std::shared_ptr<const Filter> filter_;  // without an owner where it lasts
};

// One use of a filter within a composed one.
struct Part {
  FilterRef filter;  // not composed itself
  ParameterValues values;
  // Earlier parts, or -1-k: input k of the whole; where that reads neighbouring frames, its input k frames
  // after the first of them.
  std::vector<int> inputs{-1};
};

// A plane that is made of several. Input -1-k of a part is plane k of the input; the last part makes it.
struct PlaneMix {
  PlaneGeometry output;
  std::vector<Part> parts;
};

}  // namespace millrace::image
