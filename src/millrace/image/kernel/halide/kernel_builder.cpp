#include "millrace/image/kernel/halide/kernel_builder.h"

#include "millrace/image/kernel/halide/filter_expression.h"
#include "millrace/image/kernel/halide/paired_loads.h"
#include "millrace/image/kernel/halide/shared_rows.h"
#include "millrace/image/kernel/halide/zero_divisors.h"

#include <algorithm>
#include <optional>

namespace millrace::image {
namespace {

using Halide::Expr;
using Halide::Func;
using Halide::ImageParam;
using Halide::Param;
using Halide::Var;

Halide::Type halide_type(ElementType type) {
  switch (type) {
  case ElementType::u8:
    return Halide::UInt(8);
  case ElementType::u16:
    return Halide::UInt(16);
  case ElementType::f32:
    return Halide::Float(32);
  }
  return Halide::Float(32);
}

// A buffer as parameters of the kernel; see kernel_builder.h.
struct BufferParameters {
  ImageParam plane;
  std::vector<ImageParam> corners;  // four if a stage gathers from it
};

BufferParameters buffer_parameters(const KernelSpec& spec, int buffer, BuiltKernel& built) {
  const Halide::Type type = halide_type(spec.buffer_type(buffer));
  BufferParameters result{.plane = ImageParam(type, 2, fmt::format("in{}", buffer)), .corners = {}};
  built.arguments.emplace_back(result.plane);
  if (!spec.gathered(buffer)) return result;
  for (int corner = 0; corner < 4; ++corner) {
    ImageParam& now = result.corners.emplace_back(type, 1, fmt::format("in{}_{}", buffer, corner));
    now.dim(0).set_min(0);
    if (corner > 0) now.dim(0).set_extent(result.corners[0].dim(0).extent());
    built.arguments.emplace_back(now);
  }
  return result;
}

// type: the type that its pixels are read as.
InputSymbols buffer_input(const BufferParameters& buffer, Halide::Type type) {
  const ImageParam& plane = buffer.plane;
  const std::vector<ImageParam>& corners = buffer.corners;
  return {.read = [=](const Expr& x, const Expr& y) { return Halide::cast(type, plane(x, y)); },
          .read_neighbours = [=](const Expr& x, const Expr& y, const Keep& keep) -> Neighbours<Expr> {
            const Expr address = (y - plane.dim(1).min()) * plane.dim(1).stride() + (x - plane.dim(0).min());
            // Kept as a float, because the compiler clamps integers that it loads as indices.
            const Expr kept = Halide::reinterpret<int>(keep({Halide::reinterpret<float>(address)})[0]);
            const Expr i = Halide::unsafe_promise_clamped(kept, 0, corners[0].dim(0).max());
            const auto corner = [&](std::size_t c) { return Halide::cast<float>(corners[c](i)); };
            return {corner(0), corner(1), corner(2), corner(3)};
          },
          .min_x = plane.dim(0).min(),
          .max_x = plane.dim(0).max(),
          .min_y = plane.dim(1).min(),
          .max_y = plane.dim(1).max()};
}

// Stages that are read only at one constant distance from the output pixel: a row of output needs only one
// row of them, of equal length.
std::vector<bool> read_in_place(const KernelSpec& spec) {
  // The last stage that moved the pixels on the way to the output. Positions are equal if their movers are.
  constexpr int nobody = -1;
  constexpr int many = -2;
  std::vector<std::optional<int>> mover(spec.stages.size());
  const auto read = [&](int stage, int by) {
    auto& known = mover.at(static_cast<std::size_t>(stage));
    known = known.value_or(by) == by ? by : many;
  };
  read(static_cast<int>(spec.stages.size()) - 1, nobody);
  for (int stored : spec.stored)
    read(stored, nobody);
  for (int s = static_cast<int>(spec.stages.size()) - 1; s >= 0; --s) {
    const KernelStage& stage = spec.stages[static_cast<std::size_t>(s)];
    const int own = mover[static_cast<std::size_t>(s)].value_or(many);
    const bool spread = own == many || stage.filter->simple().access != Access::pointwise;
    for (int input : stage.inputs) {
      if (input >= 0) read(input, spread ? many : stage.filter->geometric ? s : own);
    }
  }
  std::vector<bool> in_place;
  in_place.reserve(mover.size());
  for (const std::optional<int>& by : mover)
    in_place.push_back(by.has_value() && *by != many);
  return in_place;
}

// The arguments of one stage, which become arguments of the kernel.
StageSymbols stage_symbols(const Filter& filter, std::size_t s, const Expr& interior,
                           const Expr& inner_columns, BuiltKernel& built) {
  const Param<int> width(fmt::format("w{}", s));
  const Param<int> height(fmt::format("h{}", s));
  const Param<float> fill(fmt::format("fill{}", s));
  for (const Halide::Argument& argument : std::vector<Halide::Argument>{width, height, fill})
    built.arguments.push_back(argument);
  StageSymbols symbols{width, height, interior, inner_columns, fill, {}, {}, {}};
  for (int c = 0; c < max_coefficients; ++c) {
    const Param<float> coefficient(fmt::format("c{}_{}", s, c));
    built.arguments.emplace_back(coefficient);
    symbols.coefficients.emplace_back(coefficient);
  }
  if (filter.simple().on_codes()) symbols.pixels = halide_type(filter.simple().input_type);
  if (filter.simple().has_table) {
    ImageParam table(Halide::Float(32), 1, fmt::format("table{}", s));
    table.dim(0).set_min(0);
    built.arguments.emplace_back(table);
    symbols.table = [table](const Expr& i) {
      return table(Halide::unsafe_promise_clamped(i, 0, table.dim(0).extent() - 1));
    };
    symbols.table_length = table.dim(0).extent();
  }
  return symbols;
}

// Summary of the arithmetic for a pixel of a filter.
struct Arithmetic {
  bool loops = false;   // contains a loop
  int reads = 0;        // reads of pixels, counted as often as they are written out
  int comparisons = 0;  // selections between two numbers
};

class Comparisons final : public Halide::Internal::IRGraphVisitor {
 public:
  int count = 0;

 private:
  using IRGraphVisitor::visit;

  void visit(const Halide::Internal::Min* op) override { choice(op); }
  void visit(const Halide::Internal::Max* op) override { choice(op); }
  void visit(const Halide::Internal::Select* op) override { choice(op); }
  template <class Node> void choice(const Node* op) {
    ++count;
    IRGraphVisitor::visit(op);
  }
};

Arithmetic arithmetic_of(const Filter& filter) {
  const Expr zero = 0;
  const Halide::Type type =
      filter.simple().on_codes() ? halide_type(filter.simple().input_type) : Halide::Float(32);
  const StageSymbols numbers{.width = 1,
                             .height = 1,
                             .interior = 0,
                             .inner_columns = 0,
                             .fill = 0.0F,
                             .coefficients = std::vector<Expr>(max_coefficients, Expr(0.0F)),
                             .table = [](const Expr&) { return Expr(0.0F); },
                             .table_length = 1,
                             .pixels = type};
  using Halide::Internal::Call;
  Arithmetic result;
  const InputSymbols input{
      .read = [&](const Expr&,
                  const Expr&) { return Call::make(type, "pixel", {result.reads++}, Call::PureExtern); },
      .read_neighbours = [](const Expr&, const Expr&,
                            const Keep&) { return Neighbours<Expr>{0.0F, 0.0F, 0.0F, 0.0F}; },
      .min_x = zero,
      .max_x = zero,
      .min_y = zero,
      .max_y = zero};
  const std::vector<InputSymbols> inputs(static_cast<std::size_t>(filter.inputs), input);
  LoopScope scope;
  HalideAlgebra algebra(numbers, inputs, scope);
  const Expr pixel = filter_expression(filter, algebra, scope.x, scope.y);
  Comparisons comparisons;
  pixel.accept(&comparisons);
  result.comparisons = comparisons.count;
  result.loops = scope.loops > 0;
  return result;
}

// How many rows to compute together. Rows of a stencil read the same pixels and can share sums. This does not
// pay in kernels with many inlined stencils, which need too many registers, and for sorting, as in a median,
// because each row has its own order.
int rows_at_once(const KernelSpec& spec) {
  constexpr int most_written_out = 8;
  constexpr int window = 9;
  if (spec.has(Access::gather) || spec.has(Access::window)) return 1;
  bool shares = false;
  int written_out = 0;
  std::vector<int> times(spec.stages.size(), 0);
  times.back() = 1;
  for (std::size_t s = spec.stages.size(); s-- > 0;) {
    const Arithmetic arithmetic = arithmetic_of(*spec.stages[s].filter);
    if (arithmetic.loops) return 1;
    if (arithmetic.comparisons > arithmetic.reads && arithmetic.reads >= window) return 1;
    shares = shares || arithmetic.reads >= window;
    written_out += times[s];
    if (written_out > most_written_out) return 1;
    for (int input : spec.stages[s].inputs) {
      if (input >= 0) times[static_cast<std::size_t>(input)] += times[s] * std::max(1, arithmetic.reads);
    }
  }
  return shares ? 4 : 1;
}

// The stages of a kernel, as expressions for their pixels. Most are functions that Halide inlines into their
// readers. Stages with a loop, or made from such stages, are inlined here instead, so that every loop makes
// one number. Halide would compute such a function for all positions read together, in memory whose size is
// known only at call time, and kernels allocate no memory.
class StageExpressions {
 public:
  // keeps: the stages whose values are kept for a row. All arguments must outlive this object.
  StageExpressions(const KernelSpec& spec, const std::vector<BufferParameters>& buffers,
                   const std::vector<StageSymbols>& symbols, const std::vector<bool>& keeps)
      : spec_(spec), buffers_(buffers), symbols_(symbols), keeps_(keeps), functions_(spec.stages.size()) {
    for (const KernelStage& stage : spec_.stages) {
      loops_.push_back(arithmetic_of(*stage.filter).loops ||
                       std::ranges::any_of(stage.inputs, [&](int input) {
                         return input >= 0 && loops_[static_cast<std::size_t>(input)];
                       }));
    }
  }

  // A pixel as a function of `x` and `y`, the variables of the output's loops.
  Expr pixel(int stage, const Expr& x, const Expr& y) {
    const auto s = static_cast<std::size_t>(stage);
    if (loops_[s]) return expression(s, x, y);
    Func& function = functions_[s];
    if (!function.defined()) {
      function = Func(fmt::format("{}_{}", std::string(spec_.stages[s].filter->name), s));
      function(scope_.x, scope_.y) = expression(s, scope_.x, scope_.y);
    }
    return function(x, y);
  }

  [[nodiscard]] const Var& x() const { return scope_.x; }
  [[nodiscard]] const Var& y() const { return scope_.y; }
  // Functions to be computed for a row in advance.
  std::vector<Func>& kept() { return kept_; }
  // Whether an output pixel is made by a loop.
  [[nodiscard]] bool output_loops() const { return loops_.back(); }

 private:
  Expr expression(std::size_t s, const Expr& x, const Expr& y) {
    const KernelStage& stage = spec_.stages[s];
    std::vector<InputSymbols> inputs;
    for (int input : stage.inputs) {
      inputs.push_back(
          input >= 0 ? whole_frame_input(
                           [this, input, type = symbols_[s].pixels](const Expr& at_x, const Expr& at_y) {
                             return Halide::cast(type, pixel(input, at_x, at_y));
                           },
                           symbols_[s])
                     : buffer_input(buffers_.at(static_cast<std::size_t>(-1 - input)), symbols_[s].pixels));
    }
    const bool in_place = x.same_as(scope_.x) && y.same_as(scope_.y);
    HalideAlgebra algebra(symbols_[s], inputs, scope_, keeps_[s] && in_place ? keep_for_row() : keep_nothing);
    Expr value = filter_expression(*stage.filter, algebra, x, y);
    if (stage.filter->simple().output_type != ElementType::f32)
      value = Halide::cast(halide_type(stage.filter->simple().output_type), value);
    return value;
  }

  Keep keep_for_row() {
    return [this](const std::vector<Expr>& values) {
      Func f(fmt::format("kept_{}", kept_.size()));
      f(scope_.x, scope_.y) = Halide::Tuple(values);
      kept_.push_back(f);
      return values.size() == 1 ? std::vector<Expr>{f(scope_.x, scope_.y)}
                                : Halide::Tuple(f(scope_.x, scope_.y)).as_vector();
    };
  }

  const KernelSpec& spec_;
  const std::vector<BufferParameters>& buffers_;
  const std::vector<StageSymbols>& symbols_;
  const std::vector<bool>& keeps_;
  LoopScope scope_;
  std::vector<bool> loops_;      // by stage
  std::vector<Func> functions_;  // made on request
  std::vector<Func> kept_;
};

// Numbers of pixels to compute together, largest first.
std::vector<int> vector_widths(const KernelSpec& spec, const Halide::Target& target, bool loops) {
  const int lanes = target.natural_vector_size<float>();
  int most = lanes;
  for (const KernelStage& stage : spec.stages) {
    if (stage.filter->simple().on_codes())
      most = std::max(most, target.natural_vector_size(halide_type(stage.filter->simple().input_type)));
  }
  // Each step of a loop depends on the previous one. Several vectors in parallel hide the latency.
  if (loops && !spec.has(Access::gather)) most = std::max(2 * most, 4 * lanes);
  return most > lanes ? std::vector{most, lanes} : std::vector{lanes};
}

// Makes a vector loop for each important case, for several rows if that pays, and a scalar loop for the rest:
// columns at edges and rectangles narrower than a vector. Each is written out once. The last vector of a row
// is shifted to end with the row, so there is no remainder. Loops are not split into edges and a middle,
// because the caller does that; the compiler would write out every inlined stencil three times.
void schedule_rows(Func& output, const Var& x, const Var& y, const KernelSpec& spec,
                   const std::vector<int>& widths, int rows, const Expr& interior,
                   const Expr& inner_columns) {
  const bool gathers = spec.has(Access::gather);
  const Halide::OutputImageParam area = output.output_buffers()[0];
  const auto add_vector_loops = [&](const Expr& condition) {
    for (const int width : widths) {
      Expr vectors = area.dim(0).extent() >= width;
      if (spec.reads_around()) vectors = vectors && inner_columns == 1;
      if (rows > 1) {
        const Var column("column");
        const Var row("row");
        output.specialize(vectors && area.dim(1).extent() >= rows)
            .split(y, y, row, rows, Halide::TailStrategy::ShiftInwards)
            .split(x, x, column, width, Halide::TailStrategy::ShiftInwards)
            .reorder(column, row, x, y)
            .vectorize(column)
            .unroll(row)
            .never_partition_all();
      }
      output.specialize(condition.defined() ? vectors && condition : vectors)
          .vectorize(x, width, Halide::TailStrategy::ShiftInwards)
          .never_partition_all();
    }
  };
  if (gathers) {
    add_vector_loops(interior == 1);
    add_vector_loops(interior == 0);
    // Separate here too: both branches of a condition in a loop are read, and those of the interior are
    // gathers.
    output.specialize(interior == 1).never_partition_all();
    output.specialize(interior == 0).never_partition_all();
    output.specialize_fail("interior is 0 or 1");
  } else {
    add_vector_loops({});
  }
  output.never_partition_all();
}

}  // namespace

BuiltKernel build_kernel(const KernelSpec& spec, const Halide::Target& target) {
  BuiltKernel built;

  std::vector<BufferParameters> buffers;
  buffers.reserve(static_cast<std::size_t>(spec.buffers));
  for (int b = 0; b < spec.buffers; ++b)
    buffers.push_back(buffer_parameters(spec, b, built));

  const Param<int> interior("interior");
  const Param<int> inner_columns("inner_columns");
  built.arguments.emplace_back(interior);
  built.arguments.emplace_back(inner_columns);
  std::vector<StageSymbols> symbols;
  for (std::size_t s = 0; s < spec.stages.size(); ++s)
    symbols.push_back(stage_symbols(*spec.stages[s].filter, s, interior, inner_columns, built));

  std::vector<bool> keeps = read_in_place(spec);
  // Without SSE4.1 rounding is a function call, and kept values would be rounded once more.
  if (target.arch == Halide::Target::X86 && !target.has_feature(Halide::Target::SSE41))
    keeps.assign(keeps.size(), false);
  StageExpressions stages(spec, buffers, symbols, keeps);
  const Var x = stages.x();
  const Var y = stages.y();
  std::vector<Expr> values{stages.pixel(static_cast<int>(spec.stages.size()) - 1, x, y)};
  for (int s : spec.stored)
    values.push_back(stages.pixel(s, x, y));
  Func output("output");
  if (values.size() == 1)
    output(x, y) = values[0];
  else
    output(x, y) = Halide::Tuple(values);

  for (auto& buffer : output.output_buffers())
    buffer.dim(0).set_stride(1);  // rows are contiguous
  const int rows = rows_at_once(spec);
  schedule_rows(output, x, y, spec, vector_widths(spec, target, stages.output_loops()), rows, interior,
                inner_columns);
  for (Func& f : stages.kept())
    f.compute_at(output, y)
        .bound_storage(x, max_gather_columns)
        .store_in(Halide::MemoryType::Stack)
        .vectorize(x, target.natural_vector_size<float>())
        .never_partition_all();
  built.pipeline = Halide::Pipeline(output);
  std::vector<AdjacentViews> adjacent;
  for (const BufferParameters& buffer : buffers) {
    for (std::size_t c = 0; c < buffer.corners.size(); c += 2)
      adjacent.push_back({.left = buffer.corners[c].name(), .right = buffer.corners[c + 1].name()});
  }
  if (rows > 1) share_rows(built.pipeline);
  if constexpr (MILLRACE_PAIRED_LOADS) pair_loads(built.pipeline, adjacent);
  multiply_for_zero_divisors(built.pipeline);
  return built;
}

Halide::Target kernel_target(machine::Isa isa) {
  const Halide::Target host = Halide::get_host_target();
  Halide::Target target(host.os, host.arch, host.bits);
  if (target.arch == Halide::Target::X86) {
    if (isa >= machine::Isa::sse41) target.set_feature(Halide::Target::SSE41);
    if (isa >= machine::Isa::avx2)
      target.set_features({Halide::Target::AVX, Halide::Target::AVX2, Halide::Target::F16C});
    if (isa >= machine::Isa::avx512)
      target.set_features({Halide::Target::AVX512, Halide::Target::AVX512_Skylake, Halide::Target::FMA});
  }
  target.set_feature(Halide::Target::StrictFloat);
#ifdef MILLRACE_SANITIZED
  return target;  // turns a caller's mistake into an error instead of a stray write
#else
  return without_checks(target);
#endif
}

Halide::Target without_checks(const Halide::Target& target) {
  return target.with_feature(Halide::Target::NoAsserts).with_feature(Halide::Target::NoBoundsQuery);
}

}  // namespace millrace::image
