// A pipeline laid out for the planes of one frame format: every stage knows its sizes and coefficients.
#pragma once

#include "millrace/base/error/result.h"
#include "millrace/image/pipeline/pipeline.h"
#include "millrace/video/frame/frame.h"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace millrace::image {

// A plane of one of the frames that a layout reads.
struct SourceFrame {
  int offset = 0;       // frames after the current one; negative: before
  bool second = false;  // of the second video: the frame shown at the same time as that frame
  int plane = 0;

  bool operator==(const SourceFrame&) const = default;
};

struct StageLayout {
  static constexpr int source = -1;  // the frame itself; source - k is element k of `sources`
  [[nodiscard]] static constexpr bool is_source(int input) { return input < 0; }
  [[nodiscard]] static constexpr std::size_t source_frame(int input) {
    return static_cast<std::size_t>(source - input);
  }

  FilterRef filter;
  std::string name;         // of the filter; "gaussian.row_sum" for a part of a composed one
  int node = -1;            // index in the pipeline; -1 for the conversions at the ends
  std::vector<int> inputs;  // indices of earlier stages, or sources
  PlaneGeometry input;
  PlaneGeometry output;
  Coefficients coefficients{};

  // Input needed to compute an output rectangle.
  struct Reads {
    Rect required;              // inside the frame; empty if nothing is needed
    bool interior = true;       // no read outside the frame
    bool inner_columns = true;  // no read to the left or right of the frame
  };
  [[nodiscard]] Reads reads(const Rect& rect) const;
  [[nodiscard]] Rect required(const Rect& rect) const { return reads(rect).required; }
  [[nodiscard]] bool interior(const Rect& rect) const { return reads(rect).interior; }
};

struct PlaneLayout {
  PlaneGeometry source;
  ElementType source_type = ElementType::f32;
  PlaneGeometry output;
  ElementType output_type = ElementType::f32;
  // In topological order; the last one makes the output.
  std::vector<StageLayout> stages;
  // Source planes of the stages. The first one is this plane of the current frame, even if it is not read.
  std::vector<SourceFrame> sources{{}};
  // For each source, its index among all planes of FrameLayout::sources, frame after frame.
  std::vector<int> places{0};
  // If there are no stages, the value of every output sample: 0.5, or its code value. The source is then not
  // read.
  float neutral = 0.5F;

  [[nodiscard]] bool is_neutral() const { return stages.empty(); }
};

// Effect of filters on the chroma planes of a frame.
enum class Planes {
  automatic,  // as each filter declares: see ChromaDefault. Neutral chroma stays neutral
  all,        // the same as on luma: each plane is an image of its own, as in the paper
  luma,       // none, except for geometric filters
};

// "auto", "all", "luma"
[[nodiscard]] std::string_view name_of(Planes planes);
[[nodiscard]] Result<Planes> parse_planes(std::string_view name);

enum class Samples {
  codes,            // planes hold code values; stages convert them if a stage works on numbers in [0,1];
                    // floats if the plane's sample form says so
  codes_all_along,  // the same for changing parameters: the set of stages does not depend on their
                    // values, so code versions are used only for filters that select pixels
  floats,           // floats in [0,1] without conversion, for measuring computation alone
};

struct FrameLayout {
  video::FrameFormat input;
  std::optional<video::FrameFormat> second;  // format of the second video, if there is one
  video::FrameFormat output;
  std::vector<PlaneLayout> planes;       // luma, which is never neutral, comes first
  std::vector<SourceFrame> sources{{}};  // source frames of all planes; all planes of each are available

  // Frames before and after the current one that are needed to make it.
  [[nodiscard]] NeighbouringFrames neighbours() const;
};

// `second`: the format of the second video; its samples must have the same type as those of the first.
// Returns a usage error if a plane is too small for a filter, or if the pipeline reads a second video and
// there is none.
[[nodiscard]] Result<FrameLayout> lay_out_frame(const Pipeline& pipeline, const video::FrameFormat& format,
                                                Planes planes = Planes::all, Samples samples = Samples::codes,
                                                const std::optional<video::FrameFormat>& second = {},
                                                const video::SampleForms& made = {});

// Whether two layouts have the same stages and differ only in coefficients, as Executor::update requires.
[[nodiscard]] bool same_stages(const FrameLayout& a, const FrameLayout& b);

// The geometry of one plane of a frame format.
[[nodiscard]] PlaneGeometry plane_geometry(const video::FrameFormat& format, int plane);

// One plane by itself, as gray and without conversions, for tests and benchmarks. A second video has the same
// geometry unless one is given.
[[nodiscard]] Result<PlaneLayout> lay_out_plane(const Pipeline& pipeline, const PlaneGeometry& geometry,
                                                const std::optional<PlaneGeometry>& second = {});

// For each stage, the part of its output that the layout's output rectangle needs: the area behind "pixels
// required" in reports. Empty for a neutral plane.
[[nodiscard]] std::vector<Rect> required_regions(const PlaneLayout& layout, const Rect& output);

}  // namespace millrace::image
