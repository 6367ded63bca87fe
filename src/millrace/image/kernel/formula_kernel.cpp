#include "millrace/image/kernel/formula_kernel.h"

#include "millrace/image/filter/formula.h"

#include <HalideRuntime.h>
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

namespace millrace::image {
namespace {

// Number of floats for the intermediate results of one call, small enough for the stack and the L1 cache.
constexpr std::size_t room = std::size_t{16} << 10;
constexpr std::size_t longest_piece = 256;
static_assert(room / most_operations >= 16);

// A plane as seen for reading.
struct InputPlane {
  const halide_buffer_t* buffer = nullptr;

  [[nodiscard]] const float* at(int x, int y) const {
    return reinterpret_cast<const float*>(buffer->host) + (x - buffer->dim[0].min) +
           std::ptrdiff_t{y - buffer->dim[1].min} * buffer->dim[1].stride;
  }
};

template <class Compute> void each(std::size_t count, float* made, Compute&& compute) {
  for (std::size_t i = 0; i < count; ++i)
    made[i] = compute(i);
}

// As in C, without masks: conditions are 1 or 0.
constexpr float as_number(bool condition) { return condition ? 1.0F : 0.0F; }

class FormulaKernel final : public Kernel {
 public:
  FormulaKernel(const KernelSpec& spec, std::shared_ptr<const Formula> formula)
      : Kernel(spec), formula_(std::move(formula)) {
    place_operations();
  }

 private:
  // A piece of an output row.
  struct Piece {
    int x;
    int y;
    std::size_t count;
  };
  // The arguments of a call, see kernel_builder.h.
  struct Call {
    std::array<InputPlane, most_formula_inputs> inputs;
    int width;
    int height;
    std::array<float, max_coefficients> coefficients;
    std::span<const float> table;
  };
  // A loop in progress.
  struct Repetition {
    std::size_t loop;
    int count;
    int step;
  };

  // Assigns memory to operations. Results that are no longer needed give their place to later ones. A value
  // that is the same for every pixel keeps its place and is computed once per call.
  void place_operations() {
    const auto& operations = formula_->operations();
    std::vector<std::size_t> last_read(operations.size());
    for (std::size_t n = 0; n < operations.size(); ++n) {
      for (int i = 0; i < operands_of(operations[n].op); ++i)
        last_read[static_cast<std::size_t>(operations[n].arguments[static_cast<std::size_t>(i)])] = n;
    }
    // Values from before a loop, and its value so far, are read in every step, so they must live until its
    // end.
    for (std::size_t loop = operations.size(); loop-- > 0;) {
      if (operations[loop].op != Operator::loop) continue;
      const std::size_t end = formula_->end_of(loop);
      for (std::size_t before = 0; before <= loop; ++before) {
        if (last_read[before] > loop && last_read[before] < end) last_read[before] = end;
      }
      last_read[loop] = end;
    }
    std::vector<std::size_t> free;
    for (std::size_t n = 0; n < operations.size(); ++n) {
      if (free.empty() || is_fixed(operations[n].op)) {
        place_.push_back(places_++);
      } else {
        place_.push_back(free.back());
        free.pop_back();
      }
      for (std::size_t before = 0; before < n; ++before) {
        if (last_read[before] == n && !is_fixed(operations[before].op)) free.push_back(place_[before]);
      }
      // Unused and not the last: its place is free for the next operation.
      if (last_read[n] == 0 && n + 1 < operations.size() && !is_fixed(operations[n].op))
        free.push_back(place_[n]);
    }
    piece_ = std::min(longest_piece, room / places_);
  }

  static bool is_fixed(Operator op) {
    return op == Operator::constant || op == Operator::coefficient || op == Operator::width ||
           op == Operator::height;
  }

  int invoke(std::span<void*> arguments) const override {
    std::size_t next = 0;
    Call call{};
    for (int b = 0; b < spec().buffers; ++b)
      call.inputs.at(static_cast<std::size_t>(b)).buffer =
          static_cast<const halide_buffer_t*>(arguments[next++]);
    next += 2;  // the interior: unused here, because reading along an edge costs almost nothing
    call.width = *static_cast<const int*>(arguments[next++]);
    call.height = *static_cast<const int*>(arguments[next++]);
    ++next;  // fill
    for (float& coefficient : call.coefficients)
      coefficient = *static_cast<const float*>(arguments[next++]);
    if (spec().stages[0].filter->simple().has_table) {
      const auto& table = *static_cast<const halide_buffer_t*>(arguments[next++]);
      call.table = {reinterpret_cast<const float*>(table.host),
                    static_cast<std::size_t>(table.dim[0].extent)};
    }
    const auto& output = *static_cast<const halide_buffer_t*>(arguments[next]);

    alignas(64) std::array<float, room> numbers;
    fill_fixed(call, numbers);
    const int columns = output.dim[0].extent;
    for (int y = 0; y < output.dim[1].extent; ++y) {
      float* const row = reinterpret_cast<float*>(output.host) + std::ptrdiff_t{y} * output.dim[1].stride;
      for (int x = 0; x < columns; x += static_cast<int>(piece_)) {
        const std::size_t count = std::min(piece_, static_cast<std::size_t>(columns - x));
        compute(call, {output.dim[0].min + x, output.dim[1].min + y, count}, numbers);
        const float* const last = numbers.data() + place_.back() * piece_;
        each(count, row + x, [&](std::size_t i) {
          const float v = last[i] > -formula_limit ? last[i] : -formula_limit;
          return v < formula_limit ? v : formula_limit;
        });
      }
    }
    return 0;
  }

  void fill_fixed(const Call& call, std::span<float> numbers) const {
    const auto& operations = formula_->operations();
    for (std::size_t n = 0; n < operations.size(); ++n) {
      if (!is_fixed(operations[n].op)) continue;
      const Operation& operation = operations[n];
      const float number = operation.op == Operator::constant ? operation.value
                           : operation.op == Operator::coefficient
                               ? call.coefficients.at(static_cast<std::size_t>(operation.arguments[0]))
                           : operation.op == Operator::width ? static_cast<float>(call.width)
                                                             : static_cast<float>(call.height);
      std::ranges::fill(numbers.subspan(place_[n] * piece_, piece_), number);
    }
  }

  static void read_pixels(const Call& call, const Operation& operation, const Piece& piece, float* made) {
    const auto [input, dx, dy] = operation.arguments;
    const InputPlane& plane = call.inputs.at(static_cast<std::size_t>(input));
    const int y = dy == 0 ? piece.y : std::clamp(piece.y + dy, 0, call.height - 1);
    const int x = piece.x + dx;
    const auto count = static_cast<int>(piece.count);
    if (x >= 0 && x + count <= call.width) {
      std::copy_n(plane.at(x, y), count, made);
      return;
    }
    for (int i = 0; i < count; ++i)
      made[i] = *plane.at(std::clamp(x + i, 0, call.width - 1), y);
  }

  // Never returns NaN: the comparison turns it into `least`.
  static int whole(float v, float least, float most) {
    v = v > least ? v : least;
    return static_cast<int>(std::floor(v < most ? v : most));
  }

  static float pixel_at(const InputPlane& plane, float column, float row) {
    const auto within = [](const halide_dimension_t& side, float place) {
      return std::clamp(whole(place, -farthest_place, farthest_place), side.min, side.min + side.extent - 1);
    };
    return *plane.at(within(plane.buffer->dim[0], column), within(plane.buffer->dim[1], row));
  }

  // Continues after the loop if it has no steps.
  std::size_t begin_loop(std::size_t n, const Piece& piece, std::span<float> numbers,
                         std::vector<Repetition>& around) const {
    const auto& [how_often, first, unused] = formula_->operations()[n].arguments;
    const auto number_of = [&](int operation) {
      return numbers.data() + place_[static_cast<std::size_t>(operation)] * piece_;
    };
    const int count = whole(*number_of(how_often), 0, most_repetitions);
    const std::size_t end = formula_->end_of(n);
    const float* const from = number_of(first);
    float* const to = numbers.data() + place_[count == 0 ? end : n] * piece_;
    if (to != from) std::copy_n(from, piece.count, to);
    if (count == 0) return end;
    around.push_back({.loop = n, .count = count, .step = 0});
    return n;
  }

  // Jumps back to the beginning of a loop that has steps left.
  std::size_t end_loop(std::size_t n, const Piece& piece, std::span<float> numbers,
                       std::vector<Repetition>& around) const {
    const float* const made =
        numbers.data() + place_[static_cast<std::size_t>(formula_->operations()[n].arguments[0])] * piece_;
    Repetition& now = around.back();
    const bool over = ++now.step == now.count;
    const std::size_t next = over ? n : now.loop;
    // The same place if the loop returns its input.
    float* const to = numbers.data() + place_[next] * piece_;
    if (to != made) std::copy_n(made, piece.count, to);
    if (over) around.pop_back();
    return next;
  }

  void compute(const Call& call, const Piece& piece, std::span<float> numbers) const {
    const auto& operations = formula_->operations();
    const std::size_t count = piece.count;
    std::vector<Repetition> around;
    for (std::size_t n = 0; n < operations.size(); ++n) {
      const Operation& operation = operations[n];
      float* const made = numbers.data() + place_[n] * piece_;
      const auto operand = [&](std::size_t i) -> const float* {
        if (static_cast<int>(i) >= operands_of(operation.op)) return nullptr;
        return numbers.data() + place_[static_cast<std::size_t>(operation.arguments[i])] * piece_;
      };
      const float* const a = operand(0);
      const float* const b = operand(1);
      const float* const c = operand(2);
      switch (operation.op) {
      case Operator::constant:
      case Operator::coefficient:
      case Operator::width:
      case Operator::height:
        break;
      case Operator::pixel:
        read_pixels(call, operation, piece, made);
        break;
      case Operator::column:
        each(count, made, [&](std::size_t i) { return static_cast<float>(piece.x + static_cast<int>(i)); });
        break;
      case Operator::row:
        each(count, made, [&](std::size_t) { return static_cast<float>(piece.y); });
        break;
      case Operator::add:
        each(count, made, [&](std::size_t i) { return a[i] + b[i]; });
        break;
      case Operator::subtract:
        each(count, made, [&](std::size_t i) { return a[i] - b[i]; });
        break;
      case Operator::multiply:
        each(count, made, [&](std::size_t i) { return a[i] * b[i]; });
        break;
      case Operator::divide:
        each(count, made, [&](std::size_t i) { return a[i] / b[i]; });
        break;
      case Operator::minimum:
        each(count, made, [&](std::size_t i) { return a[i] < b[i] ? a[i] : b[i]; });
        break;
      case Operator::maximum:
        each(count, made, [&](std::size_t i) { return a[i] > b[i] ? a[i] : b[i]; });
        break;
      case Operator::sqrt:
        each(count, made, [&](std::size_t i) { return std::sqrt(a[i]); });
        break;
      case Operator::absolute:
        each(count, made, [&](std::size_t i) { return std::fabs(a[i]); });
        break;
      case Operator::floor:
        each(count, made, [&](std::size_t i) { return std::floor(a[i]); });
        break;
      case Operator::rint:
        each(count, made, [&](std::size_t i) { return std::nearbyint(a[i]); });
        break;
      case Operator::select:
        each(count, made, [&](std::size_t i) { return a[i] != 0.0F ? b[i] : c[i]; });
        break;
      case Operator::pixel_at: {
        const InputPlane& plane = call.inputs.at(static_cast<std::size_t>(operation.arguments[2]));
        each(count, made, [&](std::size_t i) { return pixel_at(plane, a[i], b[i]); });
        break;
      }
      case Operator::table: {
        const auto most = static_cast<float>(call.table.size() - 1);
        each(count, made,
             [&](std::size_t i) { return call.table[static_cast<std::size_t>(whole(a[i], 0, most))]; });
        break;
      }
      case Operator::loop:
        n = begin_loop(n, piece, numbers, around);
        break;
      case Operator::step: {
        const auto now =
            std::ranges::find(around, static_cast<std::size_t>(operation.arguments[0]), &Repetition::loop);
        each(count, made, [&](std::size_t) { return static_cast<float>(now->step); });
        break;
      }
      case Operator::end:
        n = end_loop(n, piece, numbers, around);
        break;
      case Operator::less:
        each(count, made, [&](std::size_t i) { return as_number(a[i] < b[i]); });
        break;
      case Operator::less_equal:
        each(count, made, [&](std::size_t i) { return as_number(a[i] <= b[i]); });
        break;
      case Operator::equal:
        each(count, made, [&](std::size_t i) { return as_number(a[i] == b[i]); });
        break;
      case Operator::not_equal:
        each(count, made, [&](std::size_t i) { return as_number(a[i] != b[i]); });
        break;
      case Operator::both:
        each(count, made, [&](std::size_t i) { return a[i] * b[i]; });
        break;
      case Operator::either:
        each(count, made, [&](std::size_t i) { return a[i] > b[i] ? a[i] : b[i]; });
        break;
      }
    }
  }

  std::shared_ptr<const Formula> formula_;
  std::vector<std::size_t> place_;  // of each operation's results, in units of pieces
  std::size_t places_ = 0;
  std::size_t piece_ = 0;
};

}  // namespace

std::shared_ptr<const Kernel> formula_kernel(const KernelSpec& spec) {
  if (spec.stages.size() != 1 || !spec.stored.empty()) return nullptr;
  const auto& formula = spec.stages[0].filter->simple().formula;
  return formula ? std::make_shared<FormulaKernel>(spec, formula) : nullptr;
}

}  // namespace millrace::image
