// A pipeline laid out for the planes of one frame format: every stage knows its sizes and its numbers.
#pragma once

#include "millrace/base/result.h"
#include "millrace/image/pipeline/pipeline.h"
#include "millrace/video/frame/frame.h"

#include <vector>

namespace millrace::image {

struct StageLayout {
  static constexpr int source = -1;

  const Filter* filter = nullptr;
  int node = -1;            // of the pipeline; -1 for the conversions at the ends
  std::vector<int> inputs;  // earlier stages, or `source`
  PlaneGeometry input;
  PlaneGeometry output;
  Coefficients coefficients{};

  // What computing an output rectangle takes of the input.
  struct Reads {
    Rect required;              // inside the frame; empty where nothing is needed
    bool interior = true;       // nothing outside the frame is asked for
    bool inner_columns = true;  // nothing to the left or right of the frame is
  };
  [[nodiscard]] Reads reads(const Rect& rect) const;
  [[nodiscard]] Rect required(const Rect& rect) const { return reads(rect).required; }
  [[nodiscard]] bool interior(const Rect& rect) const { return reads(rect).interior; }
};

// Stages in topological order, the last one is the output. Never empty.
struct PlaneLayout {
  PlaneGeometry source;
  ElementType source_type = ElementType::f32;
  std::vector<StageLayout> stages;

  [[nodiscard]] const StageLayout& output() const { return stages.back(); }
  [[nodiscard]] ElementType output_type() const { return stages.back().filter->output_type; }
};

enum class Planes {
  all,   // every filter on every plane
  luma,  // chroma passes through the geometric filters only
};

// Whether planes hold code values, converted by the first and last stages, or floats in [0,1] as they are
// (for measuring computation alone).
enum class Samples { codes, floats };

struct FrameLayout {
  video::FrameFormat input;
  video::FrameFormat output;
  std::vector<PlaneLayout> planes;
};

// Usage error where a plane is too small for a filter.
[[nodiscard]] Result<FrameLayout> lay_out_frame(const Pipeline& pipeline, const video::FrameFormat& format,
                                                Planes planes = Planes::all,
                                                Samples samples = Samples::codes);

// The geometry of one plane of a frame format.
[[nodiscard]] PlaneGeometry plane_geometry(const video::FrameFormat& format, int plane);

// One plane on its own, as gray and without conversions: what tests and benchmarks measure.
[[nodiscard]] Result<PlaneLayout> lay_out_plane(const Pipeline& pipeline, const PlaneGeometry& geometry);

// For each stage, its output pixels that the output rectangle of the layout needs: the area behind
// "pixels required" in reports.
[[nodiscard]] std::vector<Rect> required_regions(const PlaneLayout& layout, const Rect& output);

}  // namespace millrace::image
