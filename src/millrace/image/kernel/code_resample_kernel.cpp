#include "millrace/image/kernel/code_resample_kernel.h"

#if defined(__x86_64__)

#include "millrace/image/filters/code_resampling.h"
#include "millrace/image/filters/named_filters.h"
#include "millrace/image/filters/resample_x.h"
#include "millrace/image/filters/resample_y.h"

#include <HalideRuntime.h>
#include <algorithm>
#include <array>
#include <cstdint>
#include <immintrin.h>

namespace millrace::image {
namespace {

using filters::CodeResampling;
using filters::Resampling;

constexpr int most_pairs = 128;  // of taps; more are summed one by one
constexpr int row_bytes = 64;    // of a vector
constexpr int sums = 16;         // of 32 bits in a vector
constexpr int rows_at_once = 64;

// A part of a resize that makes Made of Read, along x or along y.
template <class Read, class Made> struct ResampleCall {
  static constexpr bool first = sizeof(Made) == 2;
  static constexpr int constant = first ? CodeResampling::first_constant : CodeResampling::last_constant;

  // input, two words on the interior, the stage's numbers, its table, output
  explicit ResampleCall(std::span<void*> arguments)
      : input(*static_cast<const halide_buffer_t*>(arguments.front())),
        output(*static_cast<const halide_buffer_t*>(arguments.back())),
        taps(static_cast<int>(number(arguments, 0))), slope(number(arguments, 1)),
        offset(number(arguments, 2)), last(static_cast<int>(number(arguments, 3))),
        samples(static_cast<std::ptrdiff_t>(number(arguments, 4))),
        weights(reinterpret_cast<const float*>(
            static_cast<const halide_buffer_t*>(arguments[arguments.size() - 2])->host)) {}

  static float number(std::span<void*> arguments, std::size_t i) {
    constexpr std::size_t first_coefficient = 6;
    return *static_cast<const float*>(arguments[first_coefficient + i]);
  }

  [[nodiscard]] int first_tap(int place) const { return Resampling::first_tap(place, slope, offset, last); }
  [[nodiscard]] int weight(int tap, int place) const {
    return tap < taps ? static_cast<int>(weights[tap * samples + place]) : 0;
  }
  // Two taps from an even one on, the first in the lower half.
  [[nodiscard]] int pair_of_weights(int tap, int place) const {
    return static_cast<int>((static_cast<unsigned>(weight(tap + 1, place)) << 16U) |
                            (static_cast<unsigned>(weight(tap, place)) & 0xffffU));
  }
  [[nodiscard]] const Read* read_row(int y) const {
    return reinterpret_cast<const Read*>(input.host) +
           std::ptrdiff_t{y - input.dim[1].min} * input.dim[1].stride;
  }
  [[nodiscard]] Made* made_row(int y) const {
    return reinterpret_cast<Made*>(output.host) +
           std::ptrdiff_t{y - output.dim[1].min} * output.dim[1].stride;
  }
  static Made made(int sum) {
    if constexpr (first) return static_cast<Made>(sum >> CodeResampling::middle_shift);
    return static_cast<Made>(std::clamp(sum >> CodeResampling::last_shift, 0, 255));
  }
  // One by one, with `step` pixels from a tap to the next.
  [[nodiscard]] Made pixel(const Read* from, std::ptrdiff_t step, int place) const {
    int sum = constant;
    for (int tap = 0; tap < taps; ++tap)
      sum += weight(tap, place) * from[tap * step];
    return made(sum);
  }

  const halide_buffer_t& input;
  const halide_buffer_t& output;
  int taps;
  float slope;
  float offset;
  int last;
  std::ptrdiff_t samples;
  const float* weights;
};

// Of 16 columns of the output or fewer: where their pixels lie in a vector that begins at the first one's,
// and their weights.
struct ColumnGroup {
  alignas(64) std::array<std::uint8_t, row_bytes> bytes{};
  alignas(64) std::array<std::uint16_t, row_bytes / 2> words{};
  alignas(64) std::array<std::array<std::int32_t, sums>, most_pairs> weights;
};

[[gnu::target("avx512f,avx512bw,avx512vl,avx512vbmi")]] inline __m512i
picked_pairs(const ColumnGroup& group, const std::uint8_t* from, std::ptrdiff_t there) {
  const __mmask64 lanes =
      there >= row_bytes ? ~__mmask64{0} : (__mmask64{1} << std::max<std::ptrdiff_t>(there, 0)) - 1;
  constexpr __mmask64 lower_bytes = 0x5555555555555555;
  return _mm512_maskz_permutexvar_epi8(lower_bytes, _mm512_load_si512(group.bytes.data()),
                                       _mm512_maskz_loadu_epi8(lanes, from));
}

[[gnu::target("avx512f,avx512bw,avx512vl,avx512vbmi")]] inline __m512i
picked_pairs(const ColumnGroup& group, const std::uint16_t* from, std::ptrdiff_t there) {
  constexpr int words = row_bytes / 2;
  const auto lanes = [](std::ptrdiff_t count) {
    return static_cast<__mmask32>(count >= words ? ~0U : (1U << std::max<std::ptrdiff_t>(count, 0)) - 1);
  };
  return _mm512_permutex2var_epi16(_mm512_maskz_loadu_epi16(lanes(there), from),
                                   _mm512_load_si512(group.words.data()),
                                   _mm512_maskz_loadu_epi16(lanes(there - words), from + words));
}

template <class Read, class Made>
[[gnu::target("avx512f,avx512bw,avx512vl,avx512vbmi")]] void
resample_group(const ResampleCall<Read, Made>& call, const ColumnGroup& group, int x, int count, int y0,
               int y1) {
  const auto wanted = static_cast<__mmask16>((1U << static_cast<unsigned>(count)) - 1);
  const int first = call.first_tap(x) - call.input.dim[0].min;
  const int pairs = (call.taps + 1) / 2;
  for (int y = y0; y < y1; ++y) {
    const Read* from = call.read_row(y) + first;
    std::ptrdiff_t there = call.input.dim[0].extent - first;
    __m512i sum = _mm512_set1_epi32(ResampleCall<Read, Made>::constant);
    for (int pair = 0; pair < pairs; ++pair, from += 2, there -= 2) {
      const __m512i weights = _mm512_load_si512(group.weights[static_cast<std::size_t>(pair)].data());
      sum = _mm512_add_epi32(sum, _mm512_madd_epi16(picked_pairs(group, from, there), weights));
    }
    Made* const to = call.made_row(y) + (x - call.output.dim[0].min);
    if constexpr (ResampleCall<Read, Made>::first) {
      const __m512i made = _mm512_srli_epi32(sum, CodeResampling::middle_shift);
      _mm256_mask_storeu_epi16(to, wanted, _mm512_cvtepi32_epi16(made));
    } else {
      const __m512i made =
          _mm512_max_epi32(_mm512_srai_epi32(sum, CodeResampling::last_shift), _mm512_setzero_si512());
      _mm_mask_storeu_epi8(to, wanted, _mm512_cvtusepi32_epi8(made));
    }
  }
}

template <class Read, class Made> class ResampleXOfCodes final : public Kernel {
 public:
  explicit ResampleXOfCodes(const Filter& filter) : Kernel(single_stage(&filter)) {}

 private:
  int invoke(std::span<void*> arguments) const override {
    const ResampleCall<Read, Made> call(arguments);
    const int x1 = call.output.dim[0].min + call.output.dim[0].extent;
    const int y0 = call.output.dim[1].min;
    const int y1 = y0 + call.output.dim[1].extent;
    constexpr int reach = row_bytes;  // pixels that are picked from, of either size
    ColumnGroup group;
    for (int y = y0; y < y1; y += rows_at_once) {
      const int end = std::min(y + rows_at_once, y1);
      for (int x = call.output.dim[0].min; x < x1; x += sums) {
        const int count = std::min(sums, x1 - x);
        const int first = call.first_tap(x);
        if (call.first_tap(x + count - 1) - first + 2 > reach || call.taps > 2 * most_pairs) {
          one_by_one(call, {x, y, x + count, end});
          continue;
        }
        for (int i = 0; i < sums; ++i) {
          const auto lane = static_cast<std::size_t>(i);
          const int place = call.first_tap(x + std::min(i, count - 1)) - first;
          group.bytes[4 * lane] = static_cast<std::uint8_t>(place);
          group.bytes[4 * lane + 2] = static_cast<std::uint8_t>(place + 1);
          group.words[2 * lane] = static_cast<std::uint16_t>(place);
          group.words[2 * lane + 1] = static_cast<std::uint16_t>(place + 1);
          for (int tap = 0; tap < call.taps; tap += 2)
            group.weights[static_cast<std::size_t>(tap / 2)][lane] =
                i < count ? call.pair_of_weights(tap, x + i) : 0;
        }
        resample_group(call, group, x, count, y, end);
      }
    }
    return 0;
  }

  static void one_by_one(const ResampleCall<Read, Made>& call, const Rect& rect) {
    for (int y = rect.y0; y < rect.y1; ++y) {
      for (int x = rect.x0; x < rect.x1; ++x)
        call.made_row(y)[x - call.output.dim[0].min] =
            call.pixel(call.read_row(y) + (call.first_tap(x) - call.input.dim[0].min), 1, x);
    }
  }
};

[[gnu::target("avx512f,avx512bw,avx512vl")]] inline __m512i loaded_words(const std::uint8_t* from,
                                                                         __mmask32 lanes) {
  return _mm512_cvtepu8_epi16(_mm256_maskz_loadu_epi8(lanes, from));
}

[[gnu::target("avx512f,avx512bw,avx512vl")]] inline __m512i loaded_words(const std::uint16_t* from,
                                                                         __mmask32 lanes) {
  return _mm512_maskz_loadu_epi16(lanes, from);
}

// One row of the output; weights: of pairs of taps.
template <class Read, class Made>
[[gnu::target("avx512f,avx512bw,avx512vl")]] void
resample_row(const ResampleCall<Read, Made>& call, const Read* from, Made* to,
             const std::array<std::int32_t, most_pairs>& weights) {
  constexpr int at_once = 2 * sums;
  const std::ptrdiff_t row = call.input.dim[1].stride;
  const int width = call.output.dim[0].extent;
  for (int x = 0; x < width; x += at_once, from += at_once, to += at_once) {
    const int here = std::min(at_once, width - x);
    const auto lanes =
        static_cast<__mmask32>(here == at_once ? ~0U : (1U << static_cast<unsigned>(here)) - 1);
    // Within each 128 bits: the sums of the first half of the words, and of the second.
    __m512i lower = _mm512_set1_epi32(ResampleCall<Read, Made>::constant);
    __m512i upper = lower;
    const Read* above = from;
    for (int tap = 0; tap < call.taps; tap += 2, above += 2 * row) {
      // The last one of an odd number has itself for a neighbour, which weighs nothing.
      const Read* const below = tap + 1 < call.taps ? above + row : above;
      const __m512i weight = _mm512_set1_epi32(weights[static_cast<std::size_t>(tap / 2)]);
      const __m512i first = loaded_words(above, lanes);
      const __m512i second = loaded_words(below, lanes);
      lower = _mm512_add_epi32(lower, _mm512_madd_epi16(_mm512_unpacklo_epi16(first, second), weight));
      upper = _mm512_add_epi32(upper, _mm512_madd_epi16(_mm512_unpackhi_epi16(first, second), weight));
    }
    if constexpr (ResampleCall<Read, Made>::first) {
      constexpr int shift = CodeResampling::middle_shift;
      _mm512_mask_storeu_epi16(
          to, lanes, _mm512_packus_epi32(_mm512_srli_epi32(lower, shift), _mm512_srli_epi32(upper, shift)));
    } else {
      constexpr int shift = CodeResampling::last_shift;
      const __m512i made =
          _mm512_packs_epi32(_mm512_srai_epi32(lower, shift), _mm512_srai_epi32(upper, shift));
      _mm256_mask_storeu_epi8(to, lanes,
                              _mm512_cvtusepi16_epi8(_mm512_max_epi16(made, _mm512_setzero_si512())));
    }
  }
}

template <class Read, class Made> class ResampleYOfCodes final : public Kernel {
 public:
  explicit ResampleYOfCodes(const Filter& filter) : Kernel(single_stage(&filter)) {}

 private:
  int invoke(std::span<void*> arguments) const override {
    const ResampleCall<Read, Made> call(arguments);
    const int y0 = call.output.dim[1].min;
    std::array<std::int32_t, most_pairs> weights;
    for (int y = y0; y < y0 + call.output.dim[1].extent; ++y) {
      const Read* const from =
          call.read_row(call.first_tap(y)) + (call.output.dim[0].min - call.input.dim[0].min);
      Made* const to = call.made_row(y);
      if (call.taps > 2 * most_pairs) {
        for (int x = 0; x < call.output.dim[0].extent; ++x)
          to[x] = call.pixel(from + x, call.input.dim[1].stride, y);
        continue;
      }
      for (int tap = 0; tap < call.taps; tap += 2)
        weights[static_cast<std::size_t>(tap / 2)] = call.pair_of_weights(tap, y);
      resample_row(call, from, to, weights);
    }
    return 0;
  }
};

}  // namespace

std::shared_ptr<const Kernel> code_resample_kernel(const Filter& filter, machine::Isa isa) {
  using filters::ResampleX;
  using filters::ResampleY;
  using Code = std::uint8_t;
  using Middle = std::uint16_t;
  if (isa < machine::Isa::avx512) return nullptr;
  if (filter.name == ResampleY::first_on_codes)
    return std::make_shared<ResampleYOfCodes<Code, Middle>>(filter);
  if (filter.name == ResampleY::last_on_codes)
    return std::make_shared<ResampleYOfCodes<Middle, Code>>(filter);
  if (filter.name == ResampleX::last_on_codes)
    return std::make_shared<ResampleXOfCodes<Middle, Code>>(filter);
  if (filter.name == ResampleX::first_on_codes && __builtin_cpu_supports("avx512vbmi") != 0)
    return std::make_shared<ResampleXOfCodes<Code, Middle>>(filter);
  return nullptr;
}

}  // namespace millrace::image

#else

namespace millrace::image {

std::shared_ptr<const Kernel> code_resample_kernel(const Filter& /*filter*/, machine::Isa /*isa*/) {
  return nullptr;
}

}  // namespace millrace::image

#endif
