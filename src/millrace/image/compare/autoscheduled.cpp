#include "millrace/image/compare/autoscheduled.h"

#include "millrace/image/kernel/halide/filter_expression.h"
#include "millrace/image/kernel/halide/kernel_builder.h"

namespace millrace::image {

using Halide::Expr;
using Halide::Func;
using Halide::Var;

Result<Autoscheduled> Autoscheduled::compile(const PlaneLayout& layout, const std::string& scheduler,
                                             int threads, std::size_t cache_bytes) {
  Autoscheduled result;
  result.source_ = layout.source.size;
  result.destination_ = layout.output.size;
  const Halide::Target target = kernel_target(machine::best_isa());
  try {
    LoopScope scope;
    const Var& x = scope.x;
    const Var& y = scope.y;
    result.input_ = Halide::ImageParam(Halide::Float(32), 2, "source");
    result.input_.set_estimates({{0, result.source_.width}, {0, result.source_.height}});
    result.input_.dim(0).set_bounds(0, result.source_.width);
    result.input_.dim(1).set_bounds(0, result.source_.height).set_stride(result.source_.width);
    Func source("source_func");
    source(x, y) = result.input_(x, y);

    std::vector<Func> stages;
    for (const StageLayout& stage : layout.stages) {
      StageSymbols symbols{.width = stage.input.size.width,
                           .height = stage.input.size.height,
                           .interior = 0,
                           .inner_columns = 0,
                           .fill = stage.input.fill,
                           .coefficients = {},
                           .table = {}};
      for (float coefficient : stage.coefficients)
        symbols.coefficients.emplace_back(coefficient);
      std::vector<InputSymbols> inputs;
      for (int input : stage.inputs) {
        const Func& producer = input < 0 ? source : stages[input];
        inputs.push_back(whole_frame_input([producer](const Halide::Expr& at_x, const Halide::Expr& at_y)
                                               -> Halide::Expr { return producer(at_x, at_y); },
                                           symbols));
      }
      HalideAlgebra algebra(symbols, inputs, scope);
      Func f(fmt::format("{}_{}", stage.filter->name, stages.size()));
      f(x, y) = filter_expression(*stage.filter, algebra, x, y);
      stages.push_back(f);
    }
    Func output = stages.back();
    output.set_estimates({{0, result.destination_.width}, {0, result.destination_.height}});
    result.pipeline_ = Halide::Pipeline(output);
    Halide::AutoschedulerParams parameters(scheduler, {{"parallelism", std::to_string(threads)}});
    if (scheduler == "Mullapudi2016") parameters.extra["last_level_cache_size"] = std::to_string(cache_bytes);
    Halide::load_plugin(scheduler == "Adams2019" ? MILLRACE_ADAMS2019 : MILLRACE_MULLAPUDI2016);
    result.pipeline_.apply_autoscheduler(target, parameters);
    result.pipeline_.compile_jit(target);
  } catch (const std::exception& error) {
    return failure("{}: {}", scheduler, error.what());
  }
  return result;
}

void Autoscheduled::run(float* source, float* destination) {
  input_.set(Halide::Buffer<float>(source, source_.width, source_.height));
  Halide::Buffer<float> output(destination, destination_.width, destination_.height);
  pipeline_.realize(output);
}

}  // namespace millrace::image
