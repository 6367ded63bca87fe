#include "millrace/image/kernel/lookup_kernel.h"

#if defined(__x86_64__)

#include "millrace/image/filters/named_filters.h"

#include <HalideRuntime.h>
#include <algorithm>
#include <array>
#include <cstdint>
#include <immintrin.h>

namespace millrace::image {
namespace {

constexpr int looked_up_codes = 256;

[[gnu::target("avx512f,avx512bw,avx512vbmi")]] void look_up_bytes(const std::uint8_t* table,
                                                                  const std::uint8_t* from, std::uint8_t* to,
                                                                  int width, std::ptrdiff_t from_row,
                                                                  std::ptrdiff_t to_row, int height) {
  constexpr int at_once = 64;
  const __m512i first = _mm512_loadu_si512(table);
  const __m512i second = _mm512_loadu_si512(table + 64);
  const __m512i third = _mm512_loadu_si512(table + 128);
  const __m512i fourth = _mm512_loadu_si512(table + 192);
  for (int y = 0; y < height; ++y, from += from_row, to += to_row) {
    for (int x = 0; x < width; x += at_once) {
      const int here = std::min(at_once, width - x);
      const __mmask64 lanes = here == at_once ? ~__mmask64{0} : (__mmask64{1} << here) - 1;
      const __m512i code = _mm512_maskz_loadu_epi8(lanes, from + x);
      const __m512i lower = _mm512_permutex2var_epi8(first, code, second);  // by the lowest 7 bits
      const __m512i upper = _mm512_permutex2var_epi8(third, code, fourth);
      _mm512_mask_storeu_epi8(to + x, lanes, _mm512_mask_mov_epi8(lower, _mm512_movepi8_mask(code), upper));
    }
  }
}

class LookupKernel final : public Kernel {
 public:
  LookupKernel() : Kernel(single_stage(find_simple_filter("lookup_8"))) {}

 private:
  // Arguments: input, two words for the interior, the stage's arguments, its table, output.
  int invoke(std::span<void*> arguments) const override {
    const auto* input = static_cast<const halide_buffer_t*>(arguments.front());
    const auto* table = static_cast<const halide_buffer_t*>(arguments[arguments.size() - 2]);
    const auto* output = static_cast<const halide_buffer_t*>(arguments.back());
    std::array<std::uint8_t, looked_up_codes> bytes;
    std::copy_n(reinterpret_cast<const float*>(table->host), looked_up_codes, bytes.begin());
    const std::ptrdiff_t from_row = input->dim[1].stride;
    const std::ptrdiff_t to_row = output->dim[1].stride;
    const std::uint8_t* from = input->host + (output->dim[1].min - input->dim[1].min) * from_row +
                               (output->dim[0].min - input->dim[0].min);
    look_up_bytes(bytes.data(), from, output->host, output->dim[0].extent, from_row, to_row,
                  output->dim[1].extent);
    return 0;
  }
};

}  // namespace

std::shared_ptr<const Kernel> lookup_kernel(machine::Isa isa) {
  if (isa < machine::Isa::avx512 || __builtin_cpu_supports("avx512vbmi") == 0) return nullptr;
  return std::make_shared<LookupKernel>();
}

}  // namespace millrace::image

#else

namespace millrace::image {

std::shared_ptr<const Kernel> lookup_kernel(machine::Isa /*isa*/) { return nullptr; }

}  // namespace millrace::image

#endif
