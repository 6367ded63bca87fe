#include "millrace/image/kernel/halide/paired_loads.h"

#include <map>
#include <memory>
#include <set>
#include <utility>

namespace millrace::image {
namespace {

using Halide::Expr;
using namespace Halide::Internal;

class LoadedNames final : public IRVisitor {
 public:
  std::set<std::string> names;

 private:
  using IRVisitor::visit;

  void visit(const Load* op) override {
    names.insert(op->name);
    IRVisitor::visit(op);
  }
};

class PairLoads final : public IRMutator {
 public:
  explicit PairLoads(std::vector<AdjacentViews> views) : views_(std::move(views)) {}

  // Called first for the whole kernel, then recursively for its parts.
  Stmt mutate(const Stmt& stmt) override {
    if (!std::exchange(started_, true)) find_sides(stmt);
    return IRMutator::mutate(stmt);
  }
  Expr mutate(const Expr& expr) override { return IRMutator::mutate(expr); }

 private:
  struct Side {
    std::string left;
    int offset = 0;  // of this side in the pair
  };

  using IRMutator::visit;

  Expr visit(const Let* op) override {
    const ScopedBinding<Expr> bound(values_, op->name, op->value);
    return IRMutator::visit(op);
  }

  Stmt visit(const LetStmt* op) override {
    const ScopedBinding<Expr> bound(values_, op->name, op->value);
    return IRMutator::visit(op);
  }

  // Works in blocks of four lanes, because shuffles within 128 bits are cheap. The pairs of lanes 0 and 1 of
  // every block form one vector, those of lanes 2 and 3 another. Their even elements are the values of
  // `left`, the odd ones those of `right`. Both sides write out the same loads; LLVM merges them.
  Expr visit(const Load* op) override {
    const auto side = sides_.find(op->name);
    const int lanes = op->type.lanes();
    if (side == sides_.end() || lanes % 4 != 0 || op->index.as<Ramp>() || !is_const_one(op->predicate))
      return IRMutator::visit(op);
    const auto pair = [&](int i) {
      return Load::make(op->type.with_lanes(2), side->second.left, Ramp::make(lane(op->index, i), 1, 2),
                        op->image, op->param, const_true(2), ModulusRemainder());
    };
    std::vector<Expr> lower;
    std::vector<Expr> upper;
    std::vector<int> chosen;
    for (int block = 0; block < lanes; block += 4) {
      lower.insert(lower.end(), {pair(block), pair(block + 1)});
      upper.insert(upper.end(), {pair(block + 2), pair(block + 3)});
      for (int vector : {0, lanes})
        for (int i : {0, 2})
          chosen.push_back(vector + block + i + side->second.offset);
    }
    return Shuffle::make({Shuffle::make_concat(lower), Shuffle::make_concat(upper)}, chosen);
  }

  // If the index is in memory, it is loaded from there, which is cheaper than extracting it from a vector.
  Expr lane(const Expr& index, int i) const {
    Expr value = index;
    if (const auto* name = index.as<Variable>(); name && values_.contains(name->name))
      value = values_.get(name->name);
    if (const auto* bits = value.as<Reinterpret>()) value = bits->value;
    if (const auto* load = value.as<Load>(); load && is_const_one(load->predicate)) {
      if (const auto* ramp = load->index.as<Ramp>(); ramp && is_const_one(ramp->stride)) {
        const Expr element = Load::make(load->type.element_of(), load->name, ramp->base + i, load->image,
                                        load->param, const_true(), ModulusRemainder());
        return reinterpret(index.type().element_of(), element);
      }
    }
    return Shuffle::make_extract_element(index, i);
  }

  // The code contains only names that the kernel reads.
  void find_sides(const Stmt& stmt) {
    LoadedNames loaded;
    stmt.accept(&loaded);
    for (const AdjacentViews& pair : views_) {
      if (!loaded.names.contains(pair.left) || !loaded.names.contains(pair.right)) continue;
      sides_[pair.left] = {pair.left, 0};
      sides_[pair.right] = {pair.left, 1};
    }
  }

  std::vector<AdjacentViews> views_;
  bool started_ = false;
  std::map<std::string, Side> sides_;
  Scope<Expr> values_;
};

}  // namespace

void pair_loads(Halide::Pipeline& pipeline, const std::vector<AdjacentViews>& views) {
  pipeline.add_custom_lowering_pass(std::make_unique<PairLoads>(views).release());  // takes ownership
}

}  // namespace millrace::image
