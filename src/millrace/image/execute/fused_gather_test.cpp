// A fused kernel keeps indices for a row before it gathers. They must fit, whatever stages follow the gather
// and however wide the rectangle is.
#include "millrace/image/execute/group_layout.h"
#include "millrace/image/execute/plane_buffer.h"
#include "millrace/image/kernel/kernel_library.h"
#include "millrace/image/reference/reference_testing.h"

#include <numeric>
#include <string>

#include <gtest/gtest.h>

namespace millrace::image {
namespace {

struct Reader {
  std::string name;
  std::vector<Node> nodes;  // after a rotation, which is node 0
};

// Tells GoogleTest how to print a reader.
void PrintTo(const Reader& reader, std::ostream* out) {  // NOLINT(readability-identifier-naming)
  *out << reader.name;
}

std::vector<Reader> readers() {
  return {
      {"AtItsPlace", {node("threshold", {0.5, 0}, {0}), node("binary", {}, {1})}},
      {"Moved", {node("threshold", {0.5, 0}, {0}), node("crop", {0.5}, {1})}},
      {"MovedTwice", {node("crop", {0.9}, {0}), node("crop", {0.5}, {1})}},
      {"TwiceAtItsPlace",
       {node("threshold", {0.5, 0}, {0}), node("binary", {}, {0}), node("magnitude", {}, {1, 2})}},
      {"TwiceMoved", {node("crop", {0.5}, {0}), node("crop", {0.5}, {0}), node("magnitude", {}, {1, 2})}},
      {"ByAStencil", {node("blur", {}, {0}), node("magnitude", {}, {0, 1})}},
      {"ByAGather", {node("rotate", {-20}, {0}), node("magnitude", {}, {0, 1})}},
  };
}

class FusedGather : public testing::TestWithParam<Reader> {};

TEST_P(FusedGather, HasTheBitsOfTheReferenceHoweverItIsRead) {
  const Size size{2 * max_gather_columns + 77, 21};
  Pipeline pipeline{.nodes = {node("rotate", {20})}};
  pipeline.nodes.insert(pipeline.nodes.end(), GetParam().nodes.begin(), GetParam().nodes.end());
  const PlaneLayout layout = lay_out_plane(pipeline, gray(size)).value();
  std::vector<int> all(layout.stages.size());
  std::iota(all.begin(), all.end(), 0);
  const Group group = lay_out_groups(layout, {all}).groups[0];
  KernelLibrary library;
  const auto kernel = library.wait(group.spec, machine::best_isa());
  ASSERT_TRUE(kernel) << kernel.error().message;

  const ScalarImage image = noise(size);
  const PlaneBuffer input(size, ElementType::f32);
  const PixelView source = input.view();
  for (int y = 0; y < size.height; ++y) {
    for (int x = 0; x < size.width; ++x)
      source.pixel<float>(x, y) = image.at(x, y);
  }
  const PlaneBuffer result(group.size(), ElementType::f32);
  const PixelView output = result.view();
  ASSERT_TRUE((*kernel)->run({&source, 1}, group.arguments, {}, output));
  const ScalarImage expected = scalar_reference(layout, image);
  for (int y = 0; y < expected.size.height; ++y) {
    for (int x = 0; x < expected.size.width; ++x)
      ASSERT_EQ(output.pixel<float>(x, y), expected.at(x, y)) << "at " << x << "," << y;
  }
}

INSTANTIATE_TEST_SUITE_P(Readers, FusedGather, testing::ValuesIn(readers()),
                         [](const auto& instance) { return instance.param.name; });

}  // namespace
}  // namespace millrace::image
