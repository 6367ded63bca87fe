#include "millrace/image/kernel/resample_x_kernel.h"

#if defined(__x86_64__)

#include "millrace/image/filters/named_filters.h"
#include "millrace/image/filters/resampling.h"

#include <HalideRuntime.h>
#include <algorithm>
#include <array>
#include <cstdint>
#include <immintrin.h>
#include <span>

namespace millrace::image {
namespace {

constexpr int resampled_lanes = 16;
constexpr int columns_at_once = 512;  // data about columns is kept on the stack
constexpr int rows_at_once = 4;       // independent sums hide latency

// Rows of input, beginning at column `input_x`, and of output, beginning at column `x`.
struct ResampledRows {
  const float* input;
  std::ptrdiff_t input_row;
  float* output;
  std::ptrdiff_t output_row;
};

// How the pixels of taps are loaded.
enum class Taken {
  once,  // the pixels of all taps are within 32 pixels
  anew,  // only those of each single tap are
  one_by_one
};

// Up to 16 columns of the output.
struct ResampledColumns {
  alignas(64)
      std::array<std::int32_t, resampled_lanes> places;  // of the first tap, relative to the first column's
  int first;  // the first column's, relative to the first column of input
  int count;
  Taken taken;
  __mmask16 left, right;  // which of the 32 pixels are loaded, for all taps or for each
};

__mmask16 first_lanes(int count) {
  return static_cast<__mmask16>((1U << std::clamp(count, 0, resampled_lanes)) - 1);
}

// Resampling::first_tap for 16 columns.
[[gnu::target("avx512f")]] __m512i first_taps(int x, float slope, float offset, int last) {
  const __m512i lanes = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  const __m512 columns = _mm512_cvtepi32_ps(_mm512_add_epi32(_mm512_set1_epi32(x), lanes));
  const __m512 places = _mm512_add_ps(_mm512_mul_ps(columns, _mm512_set1_ps(slope)), _mm512_set1_ps(offset));
  const __m512i floors = _mm512_cvt_roundps_epi32(places, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
  const __m512i first = _mm512_add_epi32(floors, _mm512_set1_epi32(1));
  return _mm512_min_epi32(_mm512_max_epi32(first, _mm512_setzero_si512()), _mm512_set1_epi32(last));
}

// How to make `count` columns of output from column x on; the input begins at column `input_x`.
[[gnu::target("avx512f")]] ResampledColumns columns_from(int x, int count, std::span<const float, 3> place,
                                                         int taps, int input_x) {
  const __m512i taken = first_taps(x, place[0], place[1], static_cast<int>(place[2]));
  const int first = _mm_cvtsi128_si32(_mm512_castsi512_si128(taken));
  ResampledColumns columns;
  columns.first = first - input_x;
  columns.count = count;
  _mm512_store_si512(columns.places.data(),
                     _mm512_maskz_sub_epi32(first_lanes(count), taken, _mm512_set1_epi32(first)));
  const int last = columns.places[static_cast<std::size_t>(count - 1)];
  columns.taken = last + taps <= 2 * resampled_lanes ? Taken::once
                  : last < 2 * resampled_lanes       ? Taken::anew
                                                     : Taken::one_by_one;
  const int needed = columns.taken == Taken::once ? last + taps : last + 1;
  columns.left = first_lanes(needed);
  columns.right = first_lanes(needed - resampled_lanes);
  return columns;
}

struct Pixels {
  __m512 left, right;
};

[[gnu::target("avx512f")]] inline Pixels pixels_from(const float* first, const ResampledColumns& columns) {
  return {_mm512_maskz_loadu_ps(columns.left, first),
          _mm512_maskz_loadu_ps(columns.right, first + resampled_lanes)};
}

template <int rows, Taken taken>
[[gnu::target("avx512f")]] void resample(const ResampledColumns& columns, const ResampledRows& at, int taps,
                                         const float* weights, std::ptrdiff_t weights_row) {
  const __mmask16 wanted = first_lanes(columns.count);
  __m512i places = _mm512_load_si512(columns.places.data());
  const float* from = at.input + columns.first;
  __m512 sums[rows];
  Pixels pixels[rows];
  for (int row = 0; row < rows; ++row) {
    sums[row] = _mm512_setzero_ps();
    if (taken == Taken::once) pixels[row] = pixels_from(from + row * at.input_row, columns);
  }
  for (int tap = 0; tap < taps; ++tap, weights += weights_row) {
    const __m512 weight = _mm512_maskz_loadu_ps(wanted, weights);
    for (int row = 0; row < rows; ++row) {
      if (taken == Taken::anew) pixels[row] = pixels_from(from + row * at.input_row, columns);
      const __m512 chosen =
          taken == Taken::one_by_one
              ? _mm512_mask_i32gather_ps(_mm512_setzero_ps(), wanted, places, from + row * at.input_row, 4)
              : _mm512_permutex2var_ps(pixels[row].left, places, pixels[row].right);
      sums[row] = _mm512_add_ps(sums[row], _mm512_mul_ps(weight, chosen));
    }
    if (taken == Taken::once)
      places = _mm512_add_epi32(places, _mm512_set1_epi32(1));
    else
      ++from;
  }
  for (int row = 0; row < rows; ++row)
    _mm512_mask_storeu_ps(at.output + row * at.output_row, wanted, sums[row]);
}

template <int rows>
void resample(const ResampledColumns& columns, const ResampledRows& at, int taps, const float* weights,
              std::ptrdiff_t weights_row) {
  switch (columns.taken) {
  case Taken::once:
    return resample<rows, Taken::once>(columns, at, taps, weights, weights_row);
  case Taken::anew:
    return resample<rows, Taken::anew>(columns, at, taps, weights, weights_row);
  case Taken::one_by_one:
    return resample<rows, Taken::one_by_one>(columns, at, taps, weights, weights_row);
  }
}

class ResampleXKernel final : public Kernel {
 public:
  ResampleXKernel() : Kernel(single_stage(find_simple_filter("resample_x"))) {}

 private:
  // Arguments: input, two words for the interior, the stage's arguments, its table, output.
  int invoke(std::span<void*> arguments) const override {
    constexpr std::size_t first_coefficient = 6;
    const auto number = [&](std::size_t i) {
      return *static_cast<const float*>(arguments[first_coefficient + i]);
    };
    const auto* input = static_cast<const halide_buffer_t*>(arguments.front());
    const auto* table = static_cast<const halide_buffer_t*>(arguments[arguments.size() - 2]);
    const auto* output = static_cast<const halide_buffer_t*>(arguments.back());
    const int taps = static_cast<int>(number(0));
    const std::array<float, 3> place{number(1), number(2), number(3)};
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
        columns[static_cast<std::size_t>(i / resampled_lanes)] =
            columns_from(x0 + i, std::min(resampled_lanes, width - i), place, taps, input->dim[0].min);
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
