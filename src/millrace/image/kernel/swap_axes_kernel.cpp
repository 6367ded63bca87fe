#include "millrace/image/kernel/swap_axes_kernel.h"

#include "millrace/image/filters/named_filters.h"

#include <HalideRuntime.h>
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

namespace millrace::image {
namespace {

constexpr int bytes_at_once = 16;  // supported by every processor
constexpr int bytes_of_line = 64;

template <class T> constexpr int side_of = bytes_at_once / static_cast<int>(sizeof(T));
template <class T> struct RowOf {
  using Type __attribute__((vector_size(bytes_at_once))) = T;
};
template <class T> using Row = typename RowOf<T>::Type;
template <class T> using Square = std::array<Row<T>, side_of<T>>;

template <class T> Row<T> first_halves(Row<T> a, Row<T> b) {
  if constexpr (side_of<T> == 16)
    return __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
  else if constexpr (side_of<T> == 8)
    return __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11);
  else
    return __builtin_shufflevector(a, b, 0, 4, 1, 5);
}

template <class T> Row<T> second_halves(Row<T> a, Row<T> b) {
  if constexpr (side_of<T> == 16)
    return __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
  else if constexpr (side_of<T> == 8)
    return __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15);
  else
    return __builtin_shufflevector(a, b, 2, 6, 3, 7);
}

// Interleaves the first half of the rows with the second, like a perfect card shuffle. Repeating it
// log2(side) times transposes the square.
template <class T> void turn(Square<T>& rows) {
  constexpr int half = side_of<T> / 2;
  for (int width = side_of<T>; width > 1; width /= 2) {
    const Square<T> before = rows;
    for (int i = 0; i < half; ++i) {
      rows[2 * i] = first_halves<T>(before[i], before[i + half]);
      rows[2 * i + 1] = second_halves<T>(before[i], before[i + half]);
    }
  }
}

// Rows can go upwards; `row` is then negative.
template <class T> struct Pixels {
  T* first;
  std::ptrdiff_t row;

  [[nodiscard]] T* at(int x, int y) const { return first + y * row + x; }
};

template <class T> void swap_square(Pixels<const T> from, Pixels<T> to, int x, int y) {
  Square<T> rows;
  for (int i = 0; i < side_of<T>; ++i)
    std::memcpy(&rows[i], from.at(y, x + i), bytes_at_once);
  turn<T>(rows);
  for (int i = 0; i < side_of<T>; ++i)
    std::memcpy(to.at(x, y + i), &rows[i], bytes_at_once);
}

// Squares in one column share the cache lines that they read. All squares that such lines contain come before
// the next ones to the right.
template <class T> void swap_axes(Pixels<const T> from, Pixels<T> to, int width, int height) {
  constexpr int side = side_of<T>;
  constexpr int line = bytes_of_line / static_cast<int>(sizeof(T));
  for (int line_y = 0; line_y < height; line_y += line) {
    const int end_y = std::min(line_y + line, height);
    for (int x = 0; x < width; x += side) {
      for (int y = line_y; y < end_y; y += side) {
        if (x + side <= width && y + side <= height) {
          swap_square(from, to, x, y);
          continue;
        }
        for (int to_y = y; to_y < std::min(y + side, height); ++to_y) {
          for (int to_x = x; to_x < std::min(x + side, width); ++to_x)
            *to.at(to_x, to_y) = *from.at(to_y, to_x);
        }
      }
    }
  }
}

template <class T> class SwapAxesKernel final : public Kernel {
 public:
  explicit SwapAxesKernel(const Filter& filter) : Kernel(single_stage(&filter)) {}

 private:
  // Arguments: input and its corners, two words for the interior, the stage's arguments, output.
  int invoke(std::span<void*> arguments) const override {
    constexpr std::size_t first_coefficient = 10;
    const auto number = [&](std::size_t i) {
      return static_cast<int>(*static_cast<const float*>(arguments[first_coefficient + i]));
    };
    const auto* input = static_cast<const halide_buffer_t*>(arguments.front());
    const auto* output = static_cast<const halide_buffer_t*>(arguments.back());
    const int width = output->dim[0].extent;
    const int height = output->dim[1].extent;
    Pixels<const T> from{reinterpret_cast<const T*>(input->host), input->dim[1].stride};
    Pixels<T> to{reinterpret_cast<T*>(output->host), output->dim[1].stride};
    // Of the pixels that are read: the first row, and the first column. If columns are counted from the end,
    // this is the last column, and the rows of the output are written from the last one upwards.
    int column = number(0) + number(1) * output->dim[1].min;
    const int row = number(2) + number(3) * output->dim[0].min;
    if (number(1) < 0) {
      column -= height - 1;
      to = {to.at(0, height - 1), -to.row};
    }
    from.first = from.at(column - input->dim[0].min, row - input->dim[1].min);
    if (number(3) < 0) from.row = -from.row;
    swap_axes(from, to, width, height);
    return 0;
  }
};

}  // namespace

std::shared_ptr<const Kernel> swap_axes_kernel(const Filter& filter) {
  if (&filter == find_simple_filter("swap_axes")) return std::make_shared<SwapAxesKernel<float>>(filter);
  if (&filter == on_codes(*find_simple_filter("swap_axes"), ElementType::u8))
    return std::make_shared<SwapAxesKernel<std::uint8_t>>(filter);
  if (&filter == on_codes(*find_simple_filter("swap_axes"), ElementType::u16))
    return std::make_shared<SwapAxesKernel<std::uint16_t>>(filter);
  return nullptr;
}

}  // namespace millrace::image
