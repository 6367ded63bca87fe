#include "millrace/image/execute/group_layout.h"
#include "millrace/image/execute/prepared_schedule.h"
#include "millrace/image/kernel/kernel_spec.h"
#include "millrace/image/pipeline/presets.h"

#include <gtest/gtest.h>

namespace millrace::image {
namespace {

void expect_equal(const KernelSpec& read, const KernelSpec& written) {
  EXPECT_EQ(read.key(), written.key());
  EXPECT_EQ(read.buffers, written.buffers);
  EXPECT_EQ(read.stored, written.stored);
  ASSERT_EQ(read.stages.size(), written.stages.size());
  for (std::size_t s = 0; s < read.stages.size(); ++s) {
    EXPECT_EQ(read.stages[s].filter, written.stages[s].filter);
    EXPECT_EQ(read.stages[s].inputs, written.stages[s].inputs);
  }
}

// For every preset, structure and fusion, from floats and from 8- and 16-bit codes.
TEST(KernelSpecs, areReadFromTheirKeys) {
  int read = 0;
  for (const char* preset : {"@A", "@B", "@C", "@D", "@E", "@F", "@G"}) {
    for (const int bits : {8, 10}) {
      const auto layout = lay_out_frame(
          *load_pipeline(preset), {.width = 64, .height = 48, .chroma = video::Chroma::gray, .bits = bits},
          Planes::all);
      ASSERT_TRUE(layout) << layout.error().message;
      for (const Structure structure : {Structure::tiled, Structure::backward_store}) {
        for (const Fusion fusion : {Fusion::none, Fusion::pointwise, Fusion::stencil, Fusion::all}) {
          const Schedule schedule{.structure = structure, .fusion = fusion};
          for (const Group& group : group_layout_of(layout->planes[0], schedule).groups) {
            const auto spec = parse_kernel_spec(group.spec.key());
            ASSERT_TRUE(spec) << spec.error().message;
            expect_equal(*spec, group.spec);
            ++read;
          }
        }
      }
    }
  }
  EXPECT_GT(read, 200);
}

TEST(KernelSpecs, areNotReadFromAnythingElse) {
  const std::string key = "load8(i0);sobel_x(0);sobel_y(0);magnitude(1,2)+1+2";
  ASSERT_TRUE(parse_kernel_spec(key)) << parse_kernel_spec(key).error().message;
  for (const char* wrong : {"", ";", "(i0)", "blur", "blur(", "blur()", "blur(i0", "blur(0)", "blur(i0,i1)",
                            "blur(i0);", "blur(i-1)", "blur(-1)", "blur(i0)+1", "blur(i0)+", "blur(i0) ",
                            "blur(i0);blur(1)", "blur(i8)", "blur(i99999999999999999999)", "nothing(i0)"})
    EXPECT_FALSE(parse_kernel_spec(wrong)) << wrong;
  // Any damage gives an Error or another spec, never a crash.
  for (std::size_t i = 0; i < key.size(); ++i) {
    for (const char c : {'0', '(', ')', ',', ';', 'i', '+', '\0'}) {
      std::string damaged = key;
      damaged[i] = c;
      const auto spec = parse_kernel_spec(damaged);
      if (spec) {
        EXPECT_EQ(spec->key(), damaged);
      }
    }
  }
}

}  // namespace
}  // namespace millrace::image
