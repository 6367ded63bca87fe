#include "millrace/image/kernel_builder.h"

#include "millrace/image/filter_expression.h"

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

InputSymbols buffer_input(const std::vector<ImageParam>& views) {
  const auto read = [](const ImageParam& view, const Expr& x, const Expr& y) -> Expr {
    return view.type() == Halide::Float(32) ? Expr(view(x, y)) : Halide::cast<float>(view(x, y));
  };
  const ImageParam& base = views[0];
  return {.read = [=](const Expr& x, const Expr& y) { return read(base, x, y); },
          .read_neighbour = [=](const Expr& x, const Expr& y, int dx,
                                int dy) { return read(views[static_cast<std::size_t>(dx + 2 * dy)], x, y); },
          .min_x = base.dim(0).min(),
          .max_x = base.dim(0).max(),
          .min_y = base.dim(1).min(),
          .max_y = base.dim(1).max()};
}

// A vector loop for each case that matters, and a scalar one that does everything else: columns at the edges,
// rectangles narrower than a vector. Each is written out once. The last vector of a row is shifted to end
// with the row, so nothing is left over; and no loop is split into edges and a middle, since the caller does
// that: with every inlined stencil the compiler would otherwise write out the stages three times as often.
void schedule_rows(Func& output, const Var& x, const KernelSpec& spec, int lanes, const Expr& interior,
                   const Expr& inner_columns) {
  const bool gathers = spec.has(Access::gather);
  Expr vectors = output.output_buffers()[0].dim(0).extent() >= lanes;
  if (spec.has(Access::stencil)) vectors = vectors && inner_columns != 0;
  const auto add_vector_loop = [&](const Expr& condition) {
    output.specialize(condition)
        .vectorize(x, lanes, Halide::TailStrategy::ShiftInwards)
        .never_partition_all();
  };
  if (gathers) {
    add_vector_loop(vectors && interior != 0);
    add_vector_loop(vectors && interior == 0);
  } else {
    add_vector_loop(vectors);
  }
  output.never_partition_all();
}

}  // namespace

BuiltKernel build_kernel(const KernelSpec& spec, const Halide::Target& target) {
  const Var x("x");
  const Var y("y");
  BuiltKernel built;

  std::vector<std::vector<ImageParam>> buffers;
  for (int b = 0; b < spec.buffers; ++b) {
    const int views = spec.gathered(b) ? 4 : 1;
    auto& buffer = buffers.emplace_back();
    for (int v = 0; v < views; ++v) {
      buffer.emplace_back(halide_type(spec.buffer_type(b)), 2, fmt::format("in{}_{}", b, v));
      if (v > 0) {
        for (int d = 0; d < 2; ++d)
          buffer[v].dim(d).set_bounds(buffer[0].dim(d).min(), buffer[0].dim(d).extent());
        buffer[v].dim(1).set_stride(buffer[0].dim(1).stride());
      }
      built.arguments.emplace_back(buffer.back());
    }
  }

  const Param<int> interior("interior");
  const Param<int> inner_columns("inner_columns");
  built.arguments.emplace_back(interior);
  built.arguments.emplace_back(inner_columns);
  std::vector<Func> stages;
  std::vector<StageSymbols> symbols;
  for (const KernelStage& stage : spec.stages) {
    const auto s = stages.size();
    const Param<int> width(fmt::format("w{}", s));
    const Param<int> height(fmt::format("h{}", s));
    const Param<float> fill(fmt::format("fill{}", s));
    for (const Halide::Argument& argument : std::vector<Halide::Argument>{width, height, fill}) {
      built.arguments.push_back(argument);
    }
    StageSymbols now{width, height, interior, inner_columns, fill, {}};
    for (int c = 0; c < max_coefficients; ++c) {
      const Param<float> coefficient(fmt::format("c{}_{}", s, c));
      built.arguments.emplace_back(coefficient);
      now.coefficients.emplace_back(coefficient);
    }

    std::vector<InputSymbols> inputs;
    for (int input : stage.inputs) {
      if (input >= 0) {
        inputs.push_back(whole_frame_input(stages.at(static_cast<std::size_t>(input)), now));
      } else {
        inputs.push_back(buffer_input(buffers.at(static_cast<std::size_t>(-1 - input))));
      }
    }
    HalideAlgebra algebra(now, inputs);
    Func f(fmt::format("{}_{}", std::string(stage.filter->name), s));
    Expr value = filter_expression(*stage.filter, algebra, x, y);
    if (stage.filter->output_type != ElementType::f32)
      value = Halide::cast(halide_type(stage.filter->output_type), value);
    f(x, y) = value;
    stages.push_back(f);
    symbols.push_back(std::move(now));
  }

  Func output = stages.back();
  if (!spec.stored.empty()) {
    std::vector<Expr> values{output(x, y)};
    for (int s : spec.stored)
      values.push_back(stages[static_cast<std::size_t>(s)](x, y));
    output = Func("stored_output");
    output(x, y) = Halide::Tuple(values);
  }

  for (auto& buffer : output.output_buffers())
    buffer.dim(0).set_stride(1);  // rows are contiguous
  schedule_rows(output, x, spec, target.natural_vector_size<float>(), interior, inner_columns);
  built.pipeline = Halide::Pipeline(output);
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
  return target;  // a defect of a caller shows as an error instead of a stray write
#else
  return without_checks(target);
#endif
}

Halide::Target without_checks(const Halide::Target& target) {
  return target.with_feature(Halide::Target::NoAsserts).with_feature(Halide::Target::NoBoundsQuery);
}

}  // namespace millrace::image
