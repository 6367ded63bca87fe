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
constexpr int row_bytes = 64;    // in a vector
constexpr int sums = 16;         // 32-bit sums in a vector
constexpr int rows_at_once = 64;

// A part of a resize that reads Read and makes Made, along x or along y.
template <class Read, class Made> struct ResampleCall {
  static constexpr bool first = sizeof(Made) == 2;
  static constexpr int constant = first ? CodeResampling::first_constant : CodeResampling::last_constant;

  // Arguments: input, two words for the interior, the stage's arguments, its table, output.
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
  // Weights of two taps, beginning with an even one, the first in the lower half.
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
  // Scalar version; `step` is the distance from one tap to the next in pixels.
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

// Up to 16 columns of the output. Holds the shuffle indices of the pixels of their first two taps in a vector
// that begins at `first` (a column of the input's buffer), and the weights of each two taps.
struct ColumnGroup {
  int first = 0;
  int count = 0;
  bool near = false;  // all pixels are within two vectors of words, or one of bytes
  alignas(64) std::array<std::int32_t, sums> picks;
  alignas(64) std::array<std::array<std::int32_t, sums>, most_pairs> weights;
};

#define MILLRACE_RESAMPLE_TARGET [[gnu::target("avx512f,avx512bw,avx512vl,avx512vbmi")]]

template <class Read, class Made>
MILLRACE_RESAMPLE_TARGET void place_group(const ResampleCall<Read, Made>& call, int x, int count,
                                          ColumnGroup& group) {
  // Same as Resampling::first_tap. Here too, products and sums must not be contracted.
  const __m512i lanes = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  const __m512i columns =
      _mm512_add_epi32(_mm512_set1_epi32(x), _mm512_min_epi32(lanes, _mm512_set1_epi32(count - 1)));
  const __m512 line = _mm512_add_ps(_mm512_mul_ps(_mm512_cvtepi32_ps(columns), _mm512_set1_ps(call.slope)),
                                    _mm512_set1_ps(call.offset));
  const __m512i below =
      _mm512_cvtps_epi32(_mm512_roundscale_ps(line, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC));
  const __m512i taps = _mm512_max_epi32(
      _mm512_min_epi32(_mm512_add_epi32(below, _mm512_set1_epi32(1)), _mm512_set1_epi32(call.last)),
      _mm512_setzero_si512());
  const int first = _mm_cvtsi128_si32(_mm512_castsi512_si128(taps));
  const __m512i places = _mm512_sub_epi32(taps, _mm512_set1_epi32(first));
  // The position, and the next one in the upper half.
  _mm512_store_si512(
      group.picks.data(),
      _mm512_add_epi32(_mm512_or_si512(places, _mm512_slli_epi32(places, 16)), _mm512_set1_epi32(1 << 16)));
  group.first = first - call.input.dim[0].min;
  group.count = count;
  const int pairs = (call.taps + 1) / 2;
  group.near = pairs <= most_pairs && _mm512_reduce_max_epi32(places) + 2 * pairs <= row_bytes;
  const auto wanted = static_cast<__mmask16>((1U << static_cast<unsigned>(count)) - 1);
  for (int pair = 0; group.near && pair < pairs; ++pair) {
    const float* const at = call.weights + 2 * pair * call.samples + x;
    const __m512i lower = _mm512_cvtps_epi32(_mm512_maskz_loadu_ps(wanted, at));
    const __m512i upper = 2 * pair + 1 < call.taps
                              ? _mm512_cvtps_epi32(_mm512_maskz_loadu_ps(wanted, at + call.samples))
                              : _mm512_setzero_si512();
    _mm512_store_si512(
        group.weights[static_cast<std::size_t>(pair)].data(),
        _mm512_or_si512(_mm512_slli_epi32(upper, 16), _mm512_and_si512(lower, _mm512_set1_epi32(0xffff))));
  }
}

// The loaded part of a row: one vector of bytes or two of words.
struct Source {
  __m512i lower;
  __m512i upper;
};

MILLRACE_RESAMPLE_TARGET inline Source loaded(const std::uint8_t* from, std::ptrdiff_t there) {
  const __mmask64 lanes = there >= row_bytes ? ~__mmask64{0} : (__mmask64{1} << there) - 1;
  return {_mm512_maskz_loadu_epi8(lanes, from), _mm512_setzero_si512()};
}

MILLRACE_RESAMPLE_TARGET inline Source loaded(const std::uint16_t* from, std::ptrdiff_t there) {
  constexpr int words = row_bytes / 2;
  const auto lanes = [](std::ptrdiff_t count) {
    return static_cast<__mmask32>(count >= words ? ~0U : (1U << std::max<std::ptrdiff_t>(count, 0)) - 1);
  };
  return {_mm512_maskz_loadu_epi16(lanes(there), from),
          _mm512_maskz_loadu_epi16(lanes(there - words), from + words)};
}

// The pixels of two taps of each column, as adjacent words.
MILLRACE_RESAMPLE_TARGET inline __m512i picked(const std::uint8_t* /*of*/, const Source& source,
                                               __m512i picks) {
  constexpr __mmask64 lower_bytes = 0x5555555555555555;
  return _mm512_maskz_permutexvar_epi8(lower_bytes, picks, source.lower);
}

MILLRACE_RESAMPLE_TARGET inline __m512i picked(const std::uint16_t* /*of*/, const Source& source,
                                               __m512i picks) {
  return _mm512_permutex2var_epi16(source.lower, picks, source.upper);
}

// `known`: number of pairs of taps, or 0 to take it from the call.
template <int known, class Read, class Made>
MILLRACE_RESAMPLE_TARGET void resample_group(const ResampleCall<Read, Made>& call, const ColumnGroup& group,
                                             Made* to, int y0, int y1) {
  const auto wanted = static_cast<__mmask16>((1U << static_cast<unsigned>(group.count)) - 1);
  const int pairs = known > 0 ? known : (call.taps + 1) / 2;
  const std::ptrdiff_t there = call.input.dim[0].extent - group.first;
  const __m512i picks = _mm512_load_si512(group.picks.data());
  const __m512i next_pair = _mm512_set1_epi16(2);
  const Read* from = call.read_row(y0) + group.first;
  for (int y = y0; y < y1; ++y, from += call.input.dim[1].stride, to += call.output.dim[1].stride) {
    const Source source = loaded(from, there);
    __m512i sum = _mm512_set1_epi32(ResampleCall<Read, Made>::constant);
    __m512i at = picks;
    for (int pair = 0; pair < pairs; ++pair, at = _mm512_add_epi16(at, next_pair)) {
      const __m512i weights = _mm512_load_si512(group.weights[static_cast<std::size_t>(pair)].data());
      sum = _mm512_add_epi32(sum, _mm512_madd_epi16(picked(from, source, at), weights));
    }
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
    const int x0 = call.output.dim[0].min;
    const int x1 = x0 + call.output.dim[0].extent;
    const int y1 = call.output.dim[1].min + call.output.dim[1].extent;
    ColumnGroup group;
    for (int y = call.output.dim[1].min; y < y1; y += rows_at_once) {
      const int end = std::min(y + rows_at_once, y1);
      for (int x = x0; x < x1; x += sums) {
        place_group(call, x, std::min(sums, x1 - x), group);
        if (!group.near) {
          one_by_one(call, {x, y, x + group.count, end});
          continue;
        }
        Made* const to = call.made_row(y) + (x - x0);
        switch ((call.taps + 1) / 2) {
        case 1:
          resample_group<1>(call, group, to, y, end);
          break;
        case 2:
          resample_group<2>(call, group, to, y, end);
          break;
        case 3:
          resample_group<3>(call, group, to, y, end);
          break;
        default:
          resample_group<0>(call, group, to, y, end);
        }
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

MILLRACE_RESAMPLE_TARGET inline __m512i loaded_words(const std::uint8_t* from, __mmask32 lanes) {
  return _mm512_cvtepu8_epi16(_mm256_maskz_loadu_epi8(lanes, from));
}

MILLRACE_RESAMPLE_TARGET inline __m512i loaded_words(const std::uint16_t* from, __mmask32 lanes) {
  return _mm512_maskz_loadu_epi16(lanes, from);
}

// Processes 32 columns; weights: of each two taps. `known`: number of pairs of taps, or 0 to take it from the
// call.
template <int known, class Read, class Made>
MILLRACE_RESAMPLE_TARGET inline void resample_columns(const ResampleCall<Read, Made>& call, const Read* from,
                                                      Made* to, const std::int32_t* weights,
                                                      __mmask32 lanes) {
  const std::ptrdiff_t row = call.input.dim[1].stride;
  const int pairs = known > 0 ? known : (call.taps + 1) / 2;
  const bool odd = call.taps % 2 != 0;
  // Within each 128 bits: the sums of the lower half of the words, and of the upper half.
  __m512i lower = _mm512_set1_epi32(ResampleCall<Read, Made>::constant);
  __m512i upper = lower;
  for (int pair = 0; pair < pairs; ++pair, from += 2 * row) {
    // The last of an odd number of taps is paired with itself, with weight 0.
    const Read* const below = odd && pair + 1 == pairs ? from : from + row;
    const __m512i weight = _mm512_set1_epi32(weights[pair]);
    const __m512i first = loaded_words(from, lanes);
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
    const __m512i made = _mm512_packs_epi32(_mm512_srai_epi32(lower, shift), _mm512_srai_epi32(upper, shift));
    _mm256_mask_storeu_epi8(to, lanes,
                            _mm512_cvtusepi16_epi8(_mm512_max_epi16(made, _mm512_setzero_si512())));
  }
}

template <int known, class Read, class Made>
MILLRACE_RESAMPLE_TARGET void resample_row(const ResampleCall<Read, Made>& call, const Read* from, Made* to,
                                           const std::int32_t* weights) {
  constexpr int at_once = 2 * sums;
  const int width = call.output.dim[0].extent;
  int x = 0;
  for (; x + at_once <= width; x += at_once)
    resample_columns<known>(call, from + x, to + x, weights, ~__mmask32{0});
  if (x < width)
    resample_columns<known>(call, from + x, to + x, weights,
                            (__mmask32{1} << static_cast<unsigned>(width - x)) - 1);
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
      switch ((call.taps + 1) / 2) {
      case 1:
        resample_row<1>(call, from, to, weights.data());
        break;
      case 2:
        resample_row<2>(call, from, to, weights.data());
        break;
      default:
        resample_row<0>(call, from, to, weights.data());
      }
    }
    return 0;
  }
};

#undef MILLRACE_RESAMPLE_TARGET

}  // namespace

std::shared_ptr<const Kernel> code_resample_kernel(const Filter& filter, machine::Isa isa) {
  using filters::ResampleX;
  using filters::ResampleY;
  using Code = std::uint8_t;
  using Middle = std::uint16_t;
  if (isa < machine::Isa::avx512 || __builtin_cpu_supports("avx512vbmi") == 0) return nullptr;
  if (filter.name == ResampleY::first_on_codes)
    return std::make_shared<ResampleYOfCodes<Code, Middle>>(filter);
  if (filter.name == ResampleY::last_on_codes)
    return std::make_shared<ResampleYOfCodes<Middle, Code>>(filter);
  if (filter.name == ResampleX::last_on_codes)
    return std::make_shared<ResampleXOfCodes<Middle, Code>>(filter);
  if (filter.name == ResampleX::first_on_codes)
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
