#include "millrace/image/kernel/resample_x_kernel.h"

#if defined(__x86_64__)

#include "millrace/image/filters/named_filters.h"
#include "millrace/image/filters/resampling.h"

#include <HalideRuntime.h>
#include <algorithm>
#include <array>
#include <cstdint>
#include <immintrin.h>

namespace millrace::image {
namespace {

constexpr int resampled_lanes = 16;
constexpr int columns_at_once = 512;  // what is known of columns is kept on the stack
constexpr int rows_at_once = 4;       // each waits for its own sum

// Rows of input, the first from column `input_x` on, and of output from column `x` on.
struct ResampledRows {
  const float* input;
  std::ptrdiff_t input_row;
  float* output;
  std::ptrdiff_t output_row;
};

// Of 16 columns of the output or fewer.
struct ResampledColumns {
  alignas(64)
      std::array<std::int32_t, resampled_lanes> places;  // of the first tap, from that of the first column on
  int first;                                             // that one, from the first column of input on
  int count;
  bool near;  // each tap of all of them lies within 32 pixels, which may be read
};

template <int rows>
[[gnu::target("avx512f")]] void resample(const ResampledColumns& columns, const ResampledRows& at, int taps,
                                         const float* weights, std::ptrdiff_t weights_row) {
  const auto wanted = static_cast<__mmask16>((1U << columns.count) - 1);
  const __m512i places = _mm512_load_si512(columns.places.data());
  __m512 sums[rows];
  for (__m512& sum : sums)
    sum = _mm512_setzero_ps();
  const float* from = at.input + columns.first;
  for (int tap = 0; tap < taps; ++tap, ++from, weights += weights_row) {
    const __m512 weight = _mm512_maskz_loadu_ps(wanted, weights);
    for (int row = 0; row < rows; ++row) {
      const float* here = from + row * at.input_row;
      const __m512 pixels =
          columns.near
              ? _mm512_permutex2var_ps(_mm512_loadu_ps(here), places, _mm512_loadu_ps(here + resampled_lanes))
              : _mm512_mask_i32gather_ps(_mm512_setzero_ps(), wanted, places, here, 4);
      sums[row] = _mm512_add_ps(sums[row], _mm512_mul_ps(weight, pixels));
    }
  }
  for (int row = 0; row < rows; ++row)
    _mm512_mask_storeu_ps(at.output + row * at.output_row, wanted, sums[row]);
}

class ResampleXKernel final : public Kernel {
 public:
  ResampleXKernel() : Kernel(single_stage(find_simple_filter("resample_x"))) {}

 private:
  // input, two words on the interior, the stage's numbers, its table, output
  int invoke(std::span<void*> arguments) const override {
    constexpr std::size_t first_coefficient = 6;
    const auto number = [&](std::size_t i) {
      return *static_cast<const float*>(arguments[first_coefficient + i]);
    };
    const auto* input = static_cast<const halide_buffer_t*>(arguments.front());
    const auto* table = static_cast<const halide_buffer_t*>(arguments[arguments.size() - 2]);
    const auto* output = static_cast<const halide_buffer_t*>(arguments.back());
    const int taps = static_cast<int>(number(0));
    const int last = static_cast<int>(number(3));
    const auto weights_row = static_cast<std::ptrdiff_t>(number(4));
    const auto* weights = reinterpret_cast<const float*>(table->host);
    const std::ptrdiff_t input_row = input->dim[1].stride;
    const float* from =
        reinterpret_cast<const float*>(input->host) + (output->dim[1].min - input->dim[1].min) * input_row;

    const int x1 = output->dim[0].min + output->dim[0].extent;
    for (int x0 = output->dim[0].min; x0 < x1; x0 += columns_at_once) {
      std::array<ResampledColumns, columns_at_once / resampled_lanes> columns;
      const int width = std::min(columns_at_once, x1 - x0);
      for (int i = 0; i < width; i += resampled_lanes) {
        ResampledColumns& group = columns[static_cast<std::size_t>(i / resampled_lanes)];
        const auto place = [&](int x) {
          return filters::Resampling::first_tap(x0 + i + x, number(1), number(2), last);
        };
        const int first = place(0);
        group.first = first - input->dim[0].min;
        group.count = std::min(resampled_lanes, width - i);
        for (int x = 0; x < resampled_lanes; ++x)
          group.places[static_cast<std::size_t>(x)] = x < group.count ? place(x) - first : 0;
        group.near = group.places[static_cast<std::size_t>(group.count - 1)] < 2 * resampled_lanes &&
                     group.first + taps - 1 + 2 * resampled_lanes <= input->dim[0].extent;
      }
      for (int y = 0; y < output->dim[1].extent; y += rows_at_once) {
        const int rows = std::min(rows_at_once, output->dim[1].extent - y);
        for (int i = 0; i < width; i += resampled_lanes) {
          const ResampledColumns& group = columns[static_cast<std::size_t>(i / resampled_lanes)];
          ResampledRows at{.input = from + y * input_row,
                           .input_row = input_row,
                           .output = reinterpret_cast<float*>(output->host) +
                                     std::ptrdiff_t{y} * output->dim[1].stride + (x0 - output->dim[0].min) +
                                     i,
                           .output_row = output->dim[1].stride};
          const float* own = weights + x0 + i;
          if (rows == rows_at_once) {
            resample<rows_at_once>(group, at, taps, own, weights_row);
            continue;
          }
          for (int row = 0; row < rows; ++row) {
            resample<1>(group, at, taps, own, weights_row);
            at.input += at.input_row;
            at.output += at.output_row;
          }
        }
      }
    }
    return 0;
  }
};

}  // namespace

std::shared_ptr<const Kernel> resample_x_kernel(machine::Isa isa) {
  return isa < machine::Isa::avx512 ? nullptr : std::make_shared<ResampleXKernel>();
}

}  // namespace millrace::image

#else

namespace millrace::image {

std::shared_ptr<const Kernel> resample_x_kernel(machine::Isa /*isa*/) { return nullptr; }

}  // namespace millrace::image

#endif
