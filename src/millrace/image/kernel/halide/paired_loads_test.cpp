// Loading neighbours in pairs gives the same result as separate loads, and really loads pairs.
#include "millrace/image/kernel/halide/paired_loads.h"

#include <array>
#include <random>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace millrace::image {
namespace {

using namespace Halide::Internal;

// A pass that changes nothing and counts loads of two neighbouring pixels.
class PairCounter final : public IRMutator {
 public:
  explicit PairCounter(int& count) : count_(count) {}

 private:
  using IRMutator::visit;

  Halide::Expr visit(const Load* op) override {
    if (op->type.is_float() && op->type.lanes() == 2) ++count_;
    return IRMutator::visit(op);
  }

  int& count_;
};

constexpr int length = 100;  // of the output

// A vector of reads at computed places. `kept`: the places are in memory when the pixels are read.
struct Gather {
  int lanes = 1;
  bool kept = false;
  bool reads_left = true;
};

class PairedLoads : public testing::TestWithParam<Gather> {
 protected:
  // right(i) - 3 * left(i), or only right(i), at i = places(x)^1.
  void run() {
    std::mt19937 generator(3);
    for (float& pixel : pixels_)
      pixel = std::uniform_real_distribution<float>(0, 1)(generator);
    for (int& place : places_)
      place = std::uniform_int_distribution(0, length - 1)(generator);
    for (std::size_t x = 0; x < length; ++x) {
      const auto i = static_cast<std::size_t>(places_[x] ^ 1);
      expected_[x] = GetParam().reads_left ? pixels_[i + 1] - 3.0F * pixels_[i] : pixels_[i + 1];
    }

    const Halide::Var x("x");
    Halide::ImageParam left(Halide::Float(32), 1, "left");
    Halide::ImageParam right(Halide::Float(32), 1, "right");
    Halide::ImageParam places(Halide::Int(32), 1, "places");
    Halide::Func place("place");
    Halide::Func output("output");
    place(x) = Halide::reinterpret<float>(places(x) ^ 1);
    const Halide::Expr i = Halide::unsafe_promise_clamped(Halide::reinterpret<int>(place(x)), 0, length - 1);
    output(x) = GetParam().reads_left ? Halide::strict_float(right(i) - 3.0F * left(i)) : right(i);
    output.vectorize(x, GetParam().lanes, Halide::TailStrategy::ShiftInwards).never_partition_all();
    if (GetParam().kept) place.compute_root();

    Halide::Pipeline pipeline(output);
    pair_loads(pipeline, {{.left = "left", .right = "right"}});
    pipeline.add_custom_lowering_pass(new PairCounter(pairs_));  // takes ownership
    left.set(Halide::Buffer<float>(pixels_.data(), length));
    right.set(Halide::Buffer<float>(pixels_.data() + 1, length));
    places.set(Halide::Buffer<int>(places_.data(), length));
    Halide::Buffer<float> result(result_.data(), length);
    pipeline.realize(result);
  }

  std::array<float, length + 1> pixels_{};
  std::array<int, length> places_{};
  std::array<float, length> expected_{};
  std::array<float, length> result_{};
  int pairs_ = 0;
};

TEST_P(PairedLoads, GiveTheSamePixels) {
  run();
  EXPECT_EQ(result_, expected_);
}

TEST_P(PairedLoads, AreThereForVectorsThatReadBothSides) {
  run();
  const Gather& gather = GetParam();
  const bool paired = gather.lanes >= 4 && gather.reads_left;
  EXPECT_EQ(pairs_, paired ? 2 * gather.lanes : 0);  // each side writes them out
}

INSTANTIATE_TEST_SUITE_P(Gathers, PairedLoads,
                         testing::Values(Gather{.lanes = 1}, Gather{.lanes = 4}, Gather{.lanes = 8},
                                         Gather{.lanes = 16}, Gather{.lanes = 4, .kept = true},
                                         Gather{.lanes = 8, .kept = true}, Gather{.lanes = 16, .kept = true},
                                         Gather{.lanes = 8, .reads_left = false}),
                         [](const auto& instance) {
                           const Gather& gather = instance.param;
                           return fmt::format("{}Lanes{}{}", gather.lanes, gather.kept ? "Kept" : "",
                                              gather.reads_left ? "" : "OneSide");
                         });

}  // namespace
}  // namespace millrace::image
