// A pipeline laid out for the planes of one frame format: every stage knows its sizes and its numbers.
#pragma once

#include "millrace/base/result.h"
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
  int offset = 0;       // how many frames after the one that is made
  bool second = false;  // of the second video: the one that is shown beside that frame
  int plane = 0;

  bool operator==(const SourceFrame&) const = default;
};

struct StageLayout {
  static constexpr int source = -1;  // the frame itself; source - k: what is k in its sources
  [[nodiscard]] static constexpr bool is_source(int input) { return input < 0; }
  [[nodiscard]] static constexpr std::size_t source_frame(int input) {
    return static_cast<std::size_t>(source - input);
  }

  FilterRef filter;
  std::string name;         // of the filter; of a part of a composed one, "gaussian.row_sum"
  int node = -1;            // of the pipeline; -1 for the conversions at the ends
  std::vector<int> inputs;  // earlier stages, or sources
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

struct PlaneLayout {
  PlaneGeometry source;
  ElementType source_type = ElementType::f32;
  PlaneGeometry output;
  ElementType output_type = ElementType::f32;
  // In topological order; the last one makes the output.
  std::vector<StageLayout> stages;
  // What the stages read; the first one is this plane of the frame itself, read or not.
  std::vector<SourceFrame> sources{{}};
  // Where each of them is among all planes of FrameLayout::sources, frame after frame.
  std::vector<int> places{0};
  // Where there are no stages, every sample of the output: 0.5, or the code value for it. The source is not
  // read then.
  float neutral = 0.5F;

  [[nodiscard]] bool is_neutral() const { return stages.empty(); }
};

// What filters do to the chroma planes of a frame.
enum class Planes {
  automatic,  // what each filter declares: see ChromaDefault. Chroma that became neutral stays so
  all,        // what they do to luma: each plane is an image of its own, as in the paper
  luma,       // nothing, but for the geometric ones
};

// "auto", "all", "luma"
[[nodiscard]] std::string_view name_of(Planes planes);
[[nodiscard]] Result<Planes> parse_planes(std::string_view name);

enum class Samples {
  codes,            // planes hold code values, converted by stages where a stage works on numbers in [0,1];
                    // numbers where their form says so
  codes_all_along,  // the same for parameters that change: which stages there are depends on none of them
                    // more than the pipeline says, so that a stage on codes only stands for what only chooses
  floats,           // in [0,1] as they are, for measuring computation alone
};

struct FrameLayout {
  video::FrameFormat input;
  std::optional<video::FrameFormat> second;  // of the second video, where there is one
  video::FrameFormat output;
  std::vector<PlaneLayout> planes;       // luma, which is never neutral, comes first
  std::vector<SourceFrame> sources{{}};  // what all planes read; of each frame they have all planes at hand

  // The frames before and after that making one takes.
  [[nodiscard]] NeighbouringFrames neighbours() const;
};

// `second`: the format of the second video, whose samples are as those of the first one. Usage error where a
// plane is too small for a filter, and where there is no second video though the pipeline reads it.
[[nodiscard]] Result<FrameLayout> lay_out_frame(const Pipeline& pipeline, const video::FrameFormat& format,
                                                Planes planes = Planes::all, Samples samples = Samples::codes,
                                                const std::optional<video::FrameFormat>& second = {},
                                                const video::SampleForms& made = {});

// Whether the stages of two layouts are those of one pipeline with other numbers, which Executor::update
// takes.
[[nodiscard]] bool same_stages(const FrameLayout& a, const FrameLayout& b);

// The geometry of one plane of a frame format.
[[nodiscard]] PlaneGeometry plane_geometry(const video::FrameFormat& format, int plane);

// One plane on its own, as gray and without conversions: what tests and benchmarks measure. A second video
// is as large, unless it has a geometry of its own.
[[nodiscard]] Result<PlaneLayout> lay_out_plane(const Pipeline& pipeline, const PlaneGeometry& geometry,
                                                const std::optional<PlaneGeometry>& second = {});

// For each stage, its output pixels that the output rectangle of the layout needs: the area behind
// "pixels required" in reports. None for a neutral plane.
[[nodiscard]] std::vector<Rect> required_regions(const PlaneLayout& layout, const Rect& output);

}  // namespace millrace::image
