#include "millrace/image/kernel/halide/zero_divisors.h"

#include <cmath>
#include <limits>
#include <memory>
#include <optional>

namespace millrace::image {
namespace {

using Halide::Expr;
using namespace Halide::Internal;

// The infinity with the sign of a zero, or nothing if the divisor is not a constant zero. Vectors of
// constants are broadcasts.
std::optional<Expr> reciprocal_of_zero(const Expr& divisor) {
  if (const auto* broadcast = divisor.as<Broadcast>()) {
    const auto one = reciprocal_of_zero(broadcast->value);
    return one ? std::optional(Broadcast::make(*one, broadcast->lanes)) : std::nullopt;
  }
  const auto* constant = divisor.as<FloatImm>();
  if (constant == nullptr || constant->value != 0) return std::nullopt;
  return FloatImm::make(divisor.type(),
                        std::copysign(std::numeric_limits<double>::infinity(), constant->value));
}

class MultiplyForZeroDivisors final : public IRMutator {
 private:
  using IRMutator::visit;

  Expr visit(const Div* op) override {
    const auto factor = reciprocal_of_zero(op->b);
    return factor ? Mul::make(mutate(op->a), *factor) : IRMutator::visit(op);
  }

  Expr visit(const Call* op) override {
    if (op->is_intrinsic(Call::strict_div)) {
      if (const auto factor = reciprocal_of_zero(op->args[1]))
        return Call::make(op->type, Call::strict_mul, {mutate(op->args[0]), *factor}, Call::PureIntrinsic);
    }
    return IRMutator::visit(op);
  }
};

}  // namespace

void multiply_for_zero_divisors(Halide::Pipeline& pipeline) {
  pipeline.add_custom_lowering_pass(
      std::make_unique<MultiplyForZeroDivisors>().release());  // takes ownership
}

}  // namespace millrace::image
