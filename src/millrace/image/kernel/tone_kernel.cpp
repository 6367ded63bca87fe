#include "millrace/image/kernel/tone_kernel.h"

#if defined(__x86_64__)

#include "millrace/image/filters/lookup.h"
#include "millrace/image/filters/named_filters.h"

#include <HalideRuntime.h>
#include <algorithm>
#include <array>
#include <cstdint>
#include <immintrin.h>

namespace millrace::image {
namespace {

constexpr int toned_lanes = 8;

struct Tone {
  const float* table;
  bool scales;  // look up (v - zero) / span instead of v
  float zero;
  float span;
};

// The table entries left and right of four pixels: first the first two pixels, then the others.
struct EntryPairs {
  __m128 first, second;
};

[[gnu::target("avx2")]] inline EntryPairs pairs_of(const float* table, const std::int32_t* entries) {
  const auto pair = [&](int i) { return reinterpret_cast<const __m64*>(table + entries[i]); };
  return {_mm_loadh_pi(_mm_loadl_pi(_mm_setzero_ps(), pair(0)), pair(1)),
          _mm_loadh_pi(_mm_loadl_pi(_mm_setzero_ps(), pair(2)), pair(3))};
}

// looked_up() of eight pixels, with the same order of operations.
[[gnu::target("avx2")]] inline __m256 looked_up_by(const Tone& tone, __m256 value) {
  if (tone.scales)
    value = _mm256_div_ps(_mm256_sub_ps(value, _mm256_set1_ps(tone.zero)), _mm256_set1_ps(tone.span));
  const __m256 clamped = _mm256_max_ps(_mm256_min_ps(value, _mm256_set1_ps(1.0F)), _mm256_setzero_ps());
  const __m256 place =
      _mm256_mul_ps(_mm256_sqrt_ps(clamped), _mm256_set1_ps(static_cast<float>(filters::lookup_intervals)));
  const __m256 below = _mm256_floor_ps(place);
  alignas(32) std::array<std::int32_t, toned_lanes> entries;
  _mm256_store_si256(reinterpret_cast<__m256i*>(entries.data()), _mm256_cvttps_epi32(below));
  const EntryPairs low = pairs_of(tone.table, entries.data());
  const EntryPairs high = pairs_of(tone.table, entries.data() + toned_lanes / 2);
  const __m256 first = _mm256_set_m128(high.first, low.first);
  const __m256 second = _mm256_set_m128(high.second, low.second);
  const __m256 left = _mm256_shuffle_ps(first, second, _MM_SHUFFLE(2, 0, 2, 0));
  const __m256 right = _mm256_shuffle_ps(first, second, _MM_SHUFFLE(3, 1, 3, 1));
  return _mm256_add_ps(left, _mm256_mul_ps(_mm256_sub_ps(place, below), _mm256_sub_ps(right, left)));
}

[[gnu::target("avx2")]] void tone_row(const Tone& tone, const float* from, float* to, int width) {
  int x = 0;
  for (; x + toned_lanes <= width; x += toned_lanes)
    _mm256_storeu_ps(to + x, looked_up_by(tone, _mm256_loadu_ps(from + x)));
  if (x == width) return;
  const __m256i lanes =
      _mm256_cmpgt_epi32(_mm256_set1_epi32(width - x), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
  _mm256_maskstore_ps(to + x, lanes, looked_up_by(tone, _mm256_maskload_ps(from + x, lanes)));
}

class ToneKernel final : public Kernel {
 public:
  ToneKernel(const Filter& filter, bool scales) : Kernel(single_stage(&filter)), scales_(scales) {}

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
    const Tone tone{.table = reinterpret_cast<const float*>(table->host),
                    .scales = scales_,
                    .zero = number(0),
                    .span = number(1)};
    const std::ptrdiff_t from_row = input->dim[1].stride;
    const float* from = reinterpret_cast<const float*>(input->host) +
                        (output->dim[1].min - input->dim[1].min) * from_row +
                        (output->dim[0].min - input->dim[0].min);
    auto* to = reinterpret_cast<float*>(output->host);
    for (int y = 0; y < output->dim[1].extent; ++y, from += from_row, to += output->dim[1].stride)
      tone_row(tone, from, to, output->dim[0].extent);
    return 0;
  }

  bool scales_;
};

}  // namespace

std::shared_ptr<const Kernel> tone_kernel(const Filter& filter, machine::Isa isa) {
  if (isa < machine::Isa::avx2) return nullptr;
  const bool scales = &filter == find_simple_filter("levels");
  if (!scales && &filter != find_simple_filter("curve")) return nullptr;
  return std::make_shared<ToneKernel>(filter, scales);
}

}  // namespace millrace::image

#else

namespace millrace::image {

std::shared_ptr<const Kernel> tone_kernel(const Filter& /*filter*/, machine::Isa /*isa*/) { return nullptr; }

}  // namespace millrace::image

#endif
