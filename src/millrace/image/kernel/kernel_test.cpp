// Gathering kernels must not read beyond their view, except one pixel right and one row down, wherever the
// filter would look. Inaccessible memory begins right there.
#include "millrace/image/filter/algebra.h"
#include "millrace/image/filters/named_filters.h"
#include "millrace/image/kernel/built_in_kernels.h"
#include "millrace/image/kernel/kernel.h"
#include "millrace/image/reference/reference_testing.h"

#include <algorithm>
#include <cstddef>
#include <new>
#include <random>
#include <unistd.h>

#include <gtest/gtest.h>
#include <sys/mman.h>

namespace millrace::image {
namespace {

constexpr std::size_t guard = std::size_t{64} << 20;

// Memory with inaccessible pages before and after it.
class GuardedMemory {
 public:
  enum class Flush { begin, end };

  GuardedMemory(std::size_t bytes, Flush flush) {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    const std::size_t inner = (bytes + page - 1) / page * page;
    reserved_ = inner + 2 * guard;
    void* all = mmap(nullptr, reserved_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (all == MAP_FAILED) throw std::bad_alloc();
    all_ = static_cast<std::byte*>(all);
    if (mprotect(all_ + guard, inner, PROT_READ | PROT_WRITE) != 0) throw std::bad_alloc();
    data_ = all_ + guard + (flush == Flush::end ? inner - bytes : 0);
  }
  ~GuardedMemory() { munmap(all_, reserved_); }
  GuardedMemory(const GuardedMemory&) = delete;
  GuardedMemory& operator=(const GuardedMemory&) = delete;

  [[nodiscard]] std::byte* data() const { return data_; }

 private:
  std::size_t reserved_ = 0;
  std::byte* all_ = nullptr;
  std::byte* data_ = nullptr;
};

class OneImage final : public PixelSource {
 public:
  explicit OneImage(const ScalarImage& image) : image_(image) {}
  float read(int /*input*/, int x, int y) override { return image_.at(x, y); }

 private:
  const ScalarImage& image_;
};

struct Turn {
  Step step;
  Size size;
};

std::vector<Turn> turns() {
  std::vector<Turn> all;
  for (const Size size : {Size{67, 53}, Size{600, 100}}) {
    for (double degrees : {0.0, 30.0, 90.0, 180.0, -137.0})
      all.push_back({{.filter = "rotate", .values = {degrees}}, size});
    for (double k : {-1.0, -0.2, 0.3, 1.0})
      all.push_back({{.filter = "undistort", .values = {k, k / 2}}, size});
  }
  return all;
}

class GatheringKernel : public testing::TestWithParam<machine::Isa> {};

TEST_P(GatheringKernel, ReadsNothingBeyondOnePixelPastItsView) {
  std::mt19937 generator(7);
  const auto integer = [&](int low, int high) { return std::uniform_int_distribution(low, high)(generator); };
  for (const Turn& turn : turns()) {
    const PlaneLayout layout = lay_out_plane(chain({turn.step}), gray(turn.size)).value();
    const StageLayout& stage = layout.stages[0];
    const ScalarImage image = noise(turn.size);
    OneImage source(image);
    ScalarAlgebra scalar(source, stage.input, stage.coefficients);
    const auto kernel = built_in_kernel(*stage.filter, GetParam());
    ASSERT_NE(kernel, nullptr);
    const StageArguments arguments{.width = turn.size.width,
                                   .height = turn.size.height,
                                   .fill = stage.input.fill,
                                   .coefficients = stage.coefficients};
    for (int round = 0; round < 60; ++round) {
      const int width = integer(1, round % 6 == 0 ? turn.size.width : 40);
      const int height = std::min(integer(1, 6), turn.size.height);
      const int x0 = integer(0, turn.size.width - width);
      const int y0 = integer(0, turn.size.height - height);
      const Rect rect{x0, y0, x0 + width, y0 + height};
      const Rect covers = stage.required(rect);
      if (covers.empty()) continue;

      const std::ptrdiff_t row = covers.width() + 1;
      const std::size_t pixels =
          static_cast<std::size_t>(row) * static_cast<std::size_t>(covers.height() + 1);
      const GuardedMemory memory(pixels * sizeof(float),
                                 round % 2 == 0 ? GuardedMemory::Flush::begin : GuardedMemory::Flush::end);
      const PixelView input{memory.data(), row * std::ptrdiff_t{sizeof(float)}, covers, ElementType::f32};
      for (int y = covers.y0; y < covers.y1; ++y) {
        for (int x = covers.x0; x < covers.x1; ++x)
          input.pixel<float>(x, y) = image.at(x, y);
      }

      std::vector<float> result(static_cast<std::size_t>(rect.pixels()));
      const PixelView output{reinterpret_cast<std::byte*>(result.data()),
                             rect.width() * std::ptrdiff_t{sizeof(float)}, rect, ElementType::f32};
      for (bool interior : {false, true}) {
        if (interior && !stage.interior(rect)) continue;
        std::ranges::fill(result, -1.0F);
        ASSERT_TRUE(
            kernel->run({&input, 1}, {&arguments, 1}, {.gathers = interior, .columns = false}, output));
        for (int y = rect.y0; y < rect.y1; ++y) {
          for (int x = rect.x0; x < rect.x1; ++x)
            ASSERT_EQ(output.pixel<float>(x, y), stage.filter->simple().pixel(scalar, x, y))
                << stage.filter->name << " at " << x << "," << y << " interior " << interior;
        }
      }
    }
  }
}

std::vector<machine::Isa> runnable() {
  std::vector<machine::Isa> isas;
  for (machine::Isa isa : machine::all_isas()) {
    if (machine::can_run(isa) && built_in_kernel(*find_filter("rotate"), isa) != nullptr) isas.push_back(isa);
  }
  return isas;
}

INSTANTIATE_TEST_SUITE_P(Isas, GatheringKernel, testing::ValuesIn(runnable()),
                         [](const auto& instance) { return std::string(machine::name_of(instance.param)); });

}  // namespace
}  // namespace millrace::image
