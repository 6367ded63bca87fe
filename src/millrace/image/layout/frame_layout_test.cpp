#include "millrace/image/layout/frame_layout.h"
#include "millrace/image/pipeline/pipeline_testing.h"
#include "millrace/image/pipeline/presets.h"
#include "millrace/image/reference/reference_testing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace::image {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using video::Chroma;
using video::FrameFormat;

std::vector<std::string> names_of(const PlaneLayout& layout) {
  std::vector<std::string> names;
  names.reserve(layout.stages.size());
  for (const StageLayout& stage : layout.stages)
    names.emplace_back(stage.filter->name);
  return names;
}

FrameFormat frame(int width, int height, Chroma chroma = Chroma::c420, int bits = 8) {
  return {.width = width, .height = height, .chroma = chroma, .bits = bits};
}

// Invariants of every layout: inputs are earlier stages of the right size, and every stage leads to the last.
void expect_well_formed(const PlaneLayout& layout) {
  if (layout.is_neutral()) return;
  EXPECT_EQ(layout.output, layout.stages.back().output);
  EXPECT_EQ(layout.output_type, layout.stages.back().filter->simple().output_type);
  std::vector<bool> read(layout.stages.size());
  for (std::size_t s = 0; s < layout.stages.size(); ++s) {
    const StageLayout& stage = layout.stages[s];
    ASSERT_EQ(stage.inputs.size(), static_cast<std::size_t>(stage.filter->inputs));
    for (int input : stage.inputs) {
      ASSERT_LT(input, static_cast<int>(s));
      if (input == StageLayout::source) {
        EXPECT_EQ(stage.input.size, layout.source.size);
        continue;
      }
      EXPECT_EQ(stage.input.size, layout.stages[input].output.size);
      read[input] = true;
    }
  }
  for (std::size_t s = 0; s + 1 < layout.stages.size(); ++s)
    EXPECT_TRUE(read[s]) << "nobody reads stage " << s;
}

const std::vector<FrameFormat> formats{
    frame(352, 288),
    frame(1, 1, Chroma::gray),
    frame(1, 1, Chroma::c444, 16),
    frame(17, 33),
    frame(17, 33, Chroma::c422, 10),
    frame(3, 2, Chroma::c420, 12),
    frame(1920, 1080, Chroma::c444, 9),
};

Pipeline two_turns() {
  return {.nodes = {node("rotate", {10}), node("rotate", {20}), node("magnitude", {}, {0, 1})}};
}

TEST(PlanFrame, IsWellFormedForEveryFormatAndPipeline) {
  std::vector<Pipeline> pipelines{two_turns(), chain({{.filter = "crop", .values = {1}}})};
  for (char letter : {'A', 'D', 'E', 'F', 'G'})
    pipelines.push_back(table_pipeline(letter));
  for (const FrameFormat& format : formats) {
    for (const Pipeline& pipeline : pipelines) {
      for (Planes planes : {Planes::automatic, Planes::all, Planes::luma}) {
        for (Samples samples : {Samples::codes, Samples::floats}) {
          const auto layouts = lay_out_frame(pipeline, format, planes, samples);
          ASSERT_TRUE(layouts.has_value()) << layouts.error().message;
          ASSERT_EQ(layouts->planes.size(), static_cast<std::size_t>(video::plane_count(format.chroma)));
          for (const PlaneLayout& layout : layouts->planes)
            expect_well_formed(layout);
        }
      }
    }
  }
}

TEST(PlanFrame, ConvertsCodesAtBothEnds) {
  const FrameLayout eight = lay_out_frame(table_pipeline('D'), frame(16, 16)).value();
  for (const PlaneLayout& layout : eight.planes) {
    EXPECT_THAT(names_of(layout), ElementsAre("load8", "discretise", "threshold", "binary", "store8"));
    EXPECT_EQ(layout.source_type, ElementType::u8);
    EXPECT_EQ(layout.output_type, ElementType::u8);
    EXPECT_EQ(layout.stages.front().coefficients[0], 255.0F);
    EXPECT_EQ(layout.stages.back().coefficients[0], 255.0F);
  }
  const FrameLayout ten = lay_out_frame(table_pipeline('D'), frame(16, 16, Chroma::c420, 10)).value();
  EXPECT_THAT(names_of(ten.planes[0]), ElementsAre("load16", "discretise", "threshold", "binary", "store16"));
  EXPECT_EQ(ten.planes[0].stages.front().coefficients[0], 1023.0F);
  EXPECT_EQ(ten.planes[0].output_type, ElementType::u16);
}

TEST(PlanFrame, ConvertsNothingForFloats) {
  const FrameLayout layout =
      lay_out_frame(table_pipeline('D'), frame(16, 16), Planes::all, Samples::floats).value();
  EXPECT_THAT(names_of(layout.planes[1]), ElementsAre("discretise", "threshold", "binary"));
  EXPECT_EQ(layout.planes[1].source_type, ElementType::f32);
  EXPECT_EQ(layout.planes[1].output_type, ElementType::f32);
}

TEST(PlanFrame, WithLumaAloneChromaPassesThroughGeometricFilters) {
  const FrameLayout layout = lay_out_frame(table_pipeline('E'), frame(16, 16), Planes::luma).value();
  EXPECT_THAT(names_of(layout.planes[0]), ElementsAre("load8", "threshold", "binary", "rotate", "store8"));
  EXPECT_THAT(names_of(layout.planes[1]), ElementsAre("load8", "rotate", "store8"));
  EXPECT_THAT(names_of(layout.planes[2]), ElementsAre("load8", "rotate", "store8"));
}

TEST(PlanFrame, WithLumaAloneChromaIsUnchangedWhereNothingIsGeometric) {
  const FrameLayout codes = lay_out_frame(table_pipeline('A'), frame(16, 16), Planes::luma).value();
  EXPECT_THAT(names_of(codes.planes[1]), ElementsAre("copy_8"));

  const FrameLayout floats =
      lay_out_frame(table_pipeline('A'), frame(17, 9), Planes::luma, Samples::floats).value();
  const ScalarImage chroma = noise(floats.planes[1].source.size);
  EXPECT_EQ(scalar_reference(floats.planes[1], chroma), chroma);
}

TEST(PlanFrame, WithLumaAloneChromaFollowsTheFirstInput) {
  for (Samples samples : {Samples::codes, Samples::floats}) {
    const FrameLayout layout = lay_out_frame(two_turns(), frame(16, 16), Planes::luma, samples).value();
    const FrameLayout turned =
        lay_out_frame(chain({{.filter = "rotate", .values = {10}}}), frame(16, 16), Planes::all, samples)
            .value();
    const ScalarImage chroma = noise(layout.planes[1].source.size);
    EXPECT_EQ(scalar_reference(layout.planes[1], chroma), scalar_reference(turned.planes[1], chroma));
  }
}

// The stages of the chroma planes under Planes::automatic; empty if they are neutral.
std::vector<std::string> chroma_stages(const std::string& pipeline) {
  const FrameLayout layout =
      lay_out_frame(*load_pipeline(pipeline), frame(16, 16), Planes::automatic).value();
  EXPECT_EQ(names_of(layout.planes[1]), names_of(layout.planes[2]));
  EXPECT_EQ(names_of(layout.planes[0]),
            names_of(lay_out_frame(*load_pipeline(pipeline), frame(16, 16)).value().planes[0]));
  return names_of(layout.planes[1]);
}

TEST(AutomaticPlanes, ChromaGetsWhatEachFilterDeclares) {
  EXPECT_THAT(chroma_stages("blur | rotate(10)"), ElementsAre("load8", "blur", "rotate", "store8"));
  EXPECT_THAT(chroma_stages("discretise(8)"), ElementsAre("copy_8"));
  EXPECT_THAT(chroma_stages("discretise(8) | blur"), ElementsAre("blur_8"));
  EXPECT_THAT(chroma_stages("blur | sobel_x"), ElementsAre());
}

TEST(AutomaticPlanes, ChromaThatBecameNeutralStaysSo) {
  EXPECT_THAT(chroma_stages("threshold(0.5) | blur"), ElementsAre());
  EXPECT_THAT(chroma_stages("threshold(0.5) | discretise(8) | rotate(10)"), ElementsAre());
  EXPECT_THAT(chroma_stages("[input, blur | sobel_x] | magnitude | blur"), ElementsAre());
  for (const Preset& preset : presets()) {
    const bool keeps_colour = preset.name == "@B" || preset.name == "@C";  // lens correction, rotation, crop
    EXPECT_EQ(chroma_stages(std::string(preset.name)).empty(), !keeps_colour) << preset.name;
  }
}

TEST(AutomaticPlanes, NeutralIsHalfOfTheCodesInTheSizeOfTheOutput) {
  const Pipeline pipeline =
      chain({{.filter = "binary"}, {.filter = "crop", .values = {0.7}}, {.filter = "blur"}});
  for (const FrameFormat& format : formats) {
    for (Samples samples : {Samples::codes, Samples::floats}) {
      const auto layout = lay_out_frame(pipeline, format, Planes::automatic, samples);
      if (!layout) continue;  // crop leaves nothing
      for (int p = 0; p < video::plane_count(format.chroma); ++p) {
        const PlaneLayout& plane = layout->planes[p];
        EXPECT_EQ(plane.is_neutral(), p > 0);
        EXPECT_EQ(plane.output.size,
                  (Size{video::plane_width(layout->output, p), video::plane_height(layout->output, p)}));
        const float half = samples == Samples::floats ? 0.5F : static_cast<float>(128 << (format.bits - 8));
        EXPECT_EQ(plane.neutral, half) << video::to_string(format);
        EXPECT_EQ(plane.output_type, layout->planes[0].output_type);
      }
    }
  }
}

TEST(Planes, AreFoundByTheirNames) {
  for (Planes planes : {Planes::automatic, Planes::all, Planes::luma})
    EXPECT_EQ(parse_planes(name_of(planes)), planes);
  EXPECT_EQ(parse_planes("green").error().message, "unknown planes 'green'; use auto, all or luma");
}

TEST(PlanFrame, StagesKnowTheirNodes) {
  const FrameLayout layout = lay_out_frame(table_pipeline('E'), frame(16, 16), Planes::luma).value();
  std::vector<int> nodes;
  for (const StageLayout& stage : layout.planes[1].stages)
    nodes.push_back(stage.node);
  EXPECT_THAT(nodes, ElementsAre(-1, 2, -1));
}

TEST(PlanFrame, BranchesKeepTheirInputs) {
  const FrameLayout layout = lay_out_frame(table_pipeline('A'), frame(16, 16)).value();
  std::vector<std::vector<int>> inputs;
  for (const StageLayout& stage : layout.planes[0].stages)
    inputs.push_back(stage.inputs);
  EXPECT_THAT(inputs, ElementsAre(ElementsAre(-1), ElementsAre(0), ElementsAre(1), ElementsAre(1),
                                  ElementsAre(2, 3), ElementsAre(4), ElementsAre(5)));
}

TEST(PlanFrame, OutputFormatFollowsTheCropAndKeepsTheRest) {
  FrameFormat format = frame(1920, 1080, Chroma::c420, 10);
  format.rate_numerator = 30000;
  format.rate_denominator = 1001;
  format.range = video::ColorRange::full;
  const FrameLayout layout = lay_out_frame(table_pipeline('B'), format).value();
  FrameFormat expected = format;
  expected.width = 1536;
  expected.height = 864;
  EXPECT_EQ(layout.input, format);
  EXPECT_EQ(layout.output, expected);
}

// Chroma planes are cropped separately; the result must have the size that the output format requires.
TEST(PlanFrame, CroppedPlanesFitTheOutputFormat) {
  for (Chroma chroma : {Chroma::gray, Chroma::c420, Chroma::c422, Chroma::c444}) {
    for (int width : {2, 3, 17, 64, 101}) {
      for (int height : {2, 3, 33, 64}) {
        for (double fraction : {0.34, 0.5, 0.8, 0.99, 1.0}) {
          const Pipeline pipeline =
              chain({{.filter = "crop", .values = {fraction}}, {.filter = "crop", .values = {fraction}}});
          const auto layout = lay_out_frame(pipeline, frame(width, height, chroma));
          if (!layout) continue;  // crop leaves nothing
          for (int p = 0; p < video::plane_count(chroma); ++p) {
            const PlaneLayout& plane = layout->planes[p];
            expect_well_formed(plane);
            EXPECT_EQ(plane.output.size,
                      (Size{video::plane_width(layout->output, p), video::plane_height(layout->output, p)}));
            for (const StageLayout& stage : plane.stages) {
              const Rect needed =
                  stage.filter->simple().footprint(whole(stage.output.size), stage.input, stage.coefficients);
              EXPECT_TRUE(whole(stage.input.size).contains(needed))
                  << width << "x" << height << " " << fraction;
            }
          }
        }
      }
    }
  }
}

// Whoever holds the frame takes the size of each plane from the output format.
TEST(PlanFrame, PlanesOfRandomPipelinesFitTheOutputFormat) {
  Random random(7);
  int laid_out = 0;
  for (int round = 0; round < 4000; ++round) {
    const Pipeline pipeline = random_graph(random, 1 + below(random, 4));
    const Chroma chromas[] = {Chroma::gray, Chroma::c420, Chroma::c422, Chroma::c444};
    const FrameFormat format = frame(1 + static_cast<int>(below(random, 70)),
                                     1 + static_cast<int>(below(random, 50)), chromas[below(random, 4)]);
    FrameFormat second = format;
    if (below(random, 2) == 0) second.width += 3;
    for (const Planes planes : {Planes::automatic, Planes::all, Planes::luma}) {
      const auto layout = lay_out_frame(pipeline, format, planes, Samples::codes, second);
      if (!layout) continue;  // too small, or its branches differ in size
      ++laid_out;
      for (int p = 0; p < video::plane_count(format.chroma); ++p)
        EXPECT_EQ(layout->planes[p].output.size,
                  (Size{video::plane_width(layout->output, p), video::plane_height(layout->output, p)}))
            << "plane " << p << " under --planes " << name_of(planes) << " of " << video::to_string(format)
            << ": " << to_string(pipeline);
    }
  }
  EXPECT_GT(laid_out, 1000);
}

// Filters of formulas are refused when they are defined.
TEST(PlanFrame, ChromaThatKeepsItsSizeWhileLumaChangesIsAUsageErrorThatNamesTheSizes) {
  Filter halved = *find_filter("crop");
  halved.name = "halved";
  halved.chroma = ChromaDefault::passes;
  const Pipeline pipeline{.nodes = {{.filter = &halved, .values = {0.5}, .inputs = {Node::source}}}};
  const auto layout = lay_out_frame(pipeline, frame(64, 32, Chroma::c444), Planes::automatic);
  ASSERT_FALSE(layout.has_value());
  EXPECT_EQ(layout.error().kind, ErrorKind::usage);
  EXPECT_THAT(layout.error().message, HasSubstr("32x16, and a chroma plane 64x32"));
  EXPECT_TRUE(lay_out_frame(pipeline, frame(64, 32, Chroma::c444), Planes::luma));
}

TEST(PlanFrame, CropToNothingIsAUsageErrorThatNamesIt) {
  const auto layout = lay_out_frame(table_pipeline('B'), frame(1, 1));
  ASSERT_FALSE(layout.has_value());
  EXPECT_EQ(layout.error().kind, ErrorKind::usage);
  EXPECT_EQ(layout.error().message, "crop(0.8): nothing is left of a 1x1 frame; use a larger fraction");
}

TEST(PlanFrame, BranchesOfUnlikeSizeAreAUsageErrorThatNamesThem) {
  const Pipeline pipeline{.nodes = {node("crop", {0.5}), node("blur"), node("magnitude", {}, {0, 1})}};
  const auto layout = lay_out_frame(pipeline, frame(64, 32));
  ASSERT_FALSE(layout.has_value());
  EXPECT_EQ(layout.error().kind, ErrorKind::usage);
  EXPECT_THAT(layout.error().message, HasSubstr("magnitude: its inputs differ in size, 32x16 and 64x32"));
}

TEST(PlanFrame, LumaAloneReportsTheSameErrors) {
  const Pipeline pipeline{.nodes = {node("crop", {0.5}), node("blur"), node("magnitude", {}, {0, 1})}};
  EXPECT_FALSE(lay_out_frame(pipeline, frame(64, 32), Planes::luma).has_value());
  EXPECT_FALSE(lay_out_frame(table_pipeline('B'), frame(1, 1), Planes::luma).has_value());
}

TEST(PlaneGeometry, RelatesPlanesToTheFrame) {
  const PlaneGeometry luma = plane_geometry(frame(17, 33), 0);
  EXPECT_EQ(luma, (PlaneGeometry{.size = {17, 33}, .luma = {17, 33}, .frame_step_x = 2, .frame_step_y = 2}));
  const PlaneGeometry chroma = plane_geometry(frame(17, 33), 2);
  EXPECT_EQ(chroma, (PlaneGeometry{.size = {9, 17},
                                   .luma = {17, 33},
                                   .step_x = 2,
                                   .step_y = 2,
                                   .frame_step_x = 2,
                                   .frame_step_y = 2,
                                   .fill = 0.5F,
                                   .gray = 128.0F / 255.0F,
                                   .role = PlaneRole::chroma}));
  const PlaneGeometry halved = plane_geometry(frame(17, 33, Chroma::c422), 1);
  EXPECT_EQ(halved, (PlaneGeometry{.size = {9, 33},
                                   .luma = {17, 33},
                                   .step_x = 2,
                                   .frame_step_x = 2,
                                   .fill = 0.5F,
                                   .gray = 128.0F / 255.0F,
                                   .role = PlaneRole::chroma}));
}

TEST(PlanPlane, HasTheStagesOfThePipelineAlone) {
  const PlaneLayout layout = lay_out_plane(table_pipeline('C'), gray({40, 30})).value();
  EXPECT_THAT(names_of(layout), ElementsAre("undistort", "rotate", "crop"));
  EXPECT_EQ(layout.output.size, (Size{32, 24}));
}

TEST(RequiredRegions, GrowByTheNeighbourhoodOfEachStage) {
  const PlaneLayout layout = lay_out_plane(table_pipeline('A'), gray({100, 100})).value();
  EXPECT_THAT(required_regions(layout, {40, 40, 50, 60}),
              ElementsAre(Rect{39, 39, 51, 61}, Rect{40, 40, 50, 60}, Rect{40, 40, 50, 60},
                          Rect{40, 40, 50, 60}, Rect{40, 40, 50, 60}));
}

TEST(RequiredRegions, StopAtTheFrame) {
  const PlaneLayout layout = lay_out_plane(table_pipeline('A'), gray({100, 50})).value();
  EXPECT_EQ(required_regions(layout, {0, 0, 100, 50}).front(), (Rect{0, 0, 100, 50}));
}

TEST(RequiredRegions, OfACropAreTheCentre) {
  const PlaneLayout layout =
      lay_out_plane(chain({{.filter = "blur"}, {.filter = "crop", .values = {0.5}}}), gray({40, 20})).value();
  EXPECT_THAT(required_regions(layout, {0, 0, 20, 10}), ElementsAre(Rect{10, 5, 30, 15}, Rect{0, 0, 20, 10}));
}

// The region of a stage with two readers must cover both, in either order.
TEST(RequiredRegions, CoverAllReaders) {
  for (const auto& [narrow, wide] : {std::pair{1, 2}, std::pair{2, 1}}) {
    Pipeline pipeline{.nodes = {node("binary"), {}, {}, node("magnitude", {}, {1, 2})}};
    pipeline.nodes[narrow] = node("threshold", {0.5, 0}, {0});
    pipeline.nodes[wide] = node("blur", {}, {0});
    const PlaneLayout layout = lay_out_plane(pipeline, gray({50, 50})).value();
    EXPECT_EQ(required_regions(layout, {20, 20, 30, 30}).front(), (Rect{19, 19, 31, 31}));
  }
}

}  // namespace
}  // namespace millrace::image
