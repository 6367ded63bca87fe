#include "millrace/image/execute/group_layout.h"
#include "millrace/image/execute/plane_buffer.h"
#include "millrace/image/execute/prepared_schedule.h"
#include "millrace/image/filters/named_filters.h"
#include "millrace/image/kernel/compiled_kernel.h"
#include "millrace/image/kernel/elf_object.h"
#include "millrace/image/kernel/kernel_testing.h"
#include "millrace/image/pipeline/presets.h"

#include <algorithm>
#include <cstring>
#include <random>
#include <tuple>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace millrace::image {
namespace {

constexpr Size frame_size{61, 37};

std::vector<machine::Isa> lowest_and_best() {
  std::vector<machine::Isa> isas{machine::Isa::baseline};
  if (machine::best_isa() != isas[0]) isas.push_back(machine::best_isa());
  return isas;
}

void fill_randomly(const PixelView& view, std::mt19937& random) {
  for (int y = view.covers.y0; y < view.covers.y1; ++y) {
    for (int x = view.covers.x0; x < view.covers.x1; ++x) {
      const auto value = random();
      if (view.type == ElementType::u8)
        view.pixel<std::uint8_t>(x, y) = static_cast<std::uint8_t>(value);
      else
        view.pixel<float>(x, y) = static_cast<float>(value % 4097) / 4096.0F;
    }
  }
}

// All pixels that a kernel writes for a rectangle of a group, from inputs that are always the same.
std::string output_of(const Kernel& kernel, const Group& group, const Rect& rect, Interior interior) {
  std::mt19937 random(1);
  std::vector<PlaneBuffer> inputs;
  std::vector<PixelView> input_views;
  for (int b = 0; b < group.spec.buffers; ++b) {
    inputs.emplace_back(frame_size, group.spec.buffer_type(b));
    input_views.push_back(inputs.back().view());
    fill_randomly(input_views.back(), random);
  }
  std::vector<PlaneBuffer> outputs;
  std::vector<PixelView> output_views;
  const auto add_output = [&](ElementType type) {
    outputs.emplace_back(group.size(), type);
    output_views.push_back(outputs.back().view().part(rect));
  };
  add_output(group.type());
  for (const int stage : group.spec.stored)
    add_output(group.spec.stages[static_cast<std::size_t>(stage)].filter->output_type);
  EXPECT_TRUE(kernel.run(input_views, group.arguments, interior, output_views[0],
                         std::span(output_views).subspan(1)));
  std::string bytes;
  for (const PixelView& view : output_views) {
    for (int y = rect.y0; y < rect.y1; ++y) {
      bytes.append(reinterpret_cast<const char*>(view.at(rect.x0, y)),
                   static_cast<std::size_t>(rect.width()) * bytes_of(view.type));
    }
  }
  return bytes;
}

class CompiledKernels : public ::testing::TestWithParam<std::tuple<const char*, machine::Isa>> {};

TEST_P(CompiledKernels, haveTheSameBitsFromAnObjectAsJustInTime) {
  if (!can_load_objects) GTEST_SKIP() << "objects can be loaded on x86-64 only";
  const auto [text, isa] = GetParam();
  const auto layout = lay_out_frame(
      *load_pipeline(text),
      {.width = frame_size.width, .height = frame_size.height, .chroma = video::Chroma::gray}, Planes::all);
  ASSERT_TRUE(layout) << layout.error().message;
  std::vector<Structure> structures{Structure::tiled};
  if (layout->planes[0].stages.size() <= 4)
    structures.push_back(Structure::backward_store);  // a second or more
  for (const Structure structure : structures) {
    const GroupLayout groups =
        group_layout_of(layout->planes[0], {.structure = structure, .fusion = Fusion::pointwise});
    for (const Group& group : groups.groups) {
      if (group.stages.size() == 1) continue;  // built in
      SCOPED_TRACE(group.spec.key());
      const auto object = compile_object(group.spec, isa);
      ASSERT_TRUE(object) << object.error().message;
      const auto loaded = load_kernel(group.spec, *object);
      ASSERT_TRUE(loaded) << loaded.error().message;
      const auto in_time = compile_just_in_time(group.spec, isa);
      ASSERT_TRUE(in_time) << in_time.error().message;
      const Rect all = whole(group.size());
      for (const Rect& rect : {all, Rect{3, 2, std::min(29, all.x1), 19}, Rect{8, 8, 11, 9}}) {
        for (const Interior interior : {Interior{}, group.reads(rect).interior}) {
          const std::string expected = output_of(**in_time, group, rect, interior);
          ASSERT_NE(std::string(expected.size(), expected[0]), expected) << "nothing to compare";
          EXPECT_TRUE(output_of(**loaded, group, rect, interior) == expected);
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Image, CompiledKernels,
                         ::testing::Combine(::testing::Values("@A", "@B", "blur | discretise(8)"),
                                            ::testing::ValuesIn(lowest_and_best())));

// Also those that this processor cannot run: the loader must know whatever the compiler writes for them.
TEST(CompiledKernel, canBeLoadedForEveryInstructionSet) {
  if (!can_load_objects) GTEST_SKIP() << "objects can be loaded on x86-64 only";
  for (const machine::Isa isa : machine::all_isas()) {
    for (const KernelSpec& spec :
         {testing::chain({"rotate", "discretise"}), testing::chain({"blur", "threshold"})}) {
      const auto object = compile_object(spec, isa);
      ASSERT_TRUE(object) << object.error().message;
      const auto loaded = load_kernel(spec, *object);
      EXPECT_TRUE(loaded) << machine::name_of(isa) << ": " << loaded.error().message;
    }
  }
}

TEST(CompiledKernel, aGroupThatTheCompilerRefusesIsAnError) {
  Filter unknown = *find_filter("blur");
  unknown.name = "no filter of this program";
  const KernelSpec broken{.stages = {{.filter = &unknown, .inputs = {-1}}}, .stored = {}};
  for (const std::string& message : {compile_object(broken, machine::Isa::baseline).error().message,
                                     compile_just_in_time(broken, machine::Isa::baseline).error().message}) {
    EXPECT_NE(message.find("no filter of this program"), std::string::npos) << message;
  }
}

TEST(CompiledKernel, anObjectOfSomethingElseIsAnError) {
  EXPECT_FALSE(load_kernel(testing::chain({"blur"}), {}));
  const std::vector<std::byte> zeros(4096);
  EXPECT_FALSE(load_kernel(testing::chain({"blur"}), zeros));
}

}  // namespace
}  // namespace millrace::image
