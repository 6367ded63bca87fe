#include "millrace/image/kernel/halide/shared_rows.h"

#include <memory>
#include <ranges>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace millrace::image {
namespace {

using Halide::Expr;
using namespace Halide::Internal;

// Whether the statement consists only of stores of computed pixels, and how many.
bool only_stores(const Stmt& stmt, int& count) {
  if (const auto* block = stmt.as<Block>())
    return only_stores(block->first, count) && only_stores(block->rest, count);
  if (const auto* let = stmt.as<LetStmt>()) return only_stores(let->body, count);
  if (!stmt.as<Store>()) return false;
  ++count;
  return true;
}

// Collects the stores, with surrounding definitions substituted.
void collect(const Stmt& stmt, std::vector<Stmt>& stores) {
  if (const auto* block = stmt.as<Block>()) {
    collect(block->first, stores);
    collect(block->rest, stores);
  } else if (const auto* let = stmt.as<LetStmt>()) {
    collect(graph_substitute(let->name, let->value, let->body), stores);
  } else {
    stores.push_back(stmt);
  }
}

// Finds expressions that must not move: reads of stored data, and reads that only one branch of a condition
// allows.
class Obstacles final : public IRGraphVisitor {
 public:
  explicit Obstacles(std::set<std::string> stored) : stored_(std::move(stored)) {}
  bool found = false;

 private:
  using IRGraphVisitor::visit;

  void visit(const Load* op) override {
    if (stored_.contains(op->name) || !is_const_one(op->predicate)) found = true;
    IRGraphVisitor::visit(op);
  }

  void visit(const Call* op) override {
    if (!op->is_pure() || op->is_intrinsic(Call::if_then_else)) found = true;
    IRGraphVisitor::visit(op);
  }

  std::set<std::string> stored_;
};

class ShareRows final : public IRMutator {
 private:
  using IRMutator::visit;

  Stmt visit(const Block* op) override {
    int count = 0;
    if (!only_stores(op, count) || count < 2) return IRMutator::visit(op);
    std::vector<Stmt> stores;
    collect(op, stores);

    std::set<std::string> stored;
    std::vector<Expr> parts;
    for (const Stmt& stmt : stores) {
      const auto* store = stmt.as<Store>();
      stored.insert(store->name);
      parts.push_back(substitute_in_all_lets(store->value));
      parts.push_back(substitute_in_all_lets(store->index));
    }
    Obstacles obstacles(std::move(stored));
    for (const Expr& part : parts)
      part.accept(&obstacles);
    if (obstacles.found) return IRMutator::visit(op);

    Expr shared = common_subexpression_elimination(
        Call::make(Halide::Int(32), Call::bundle, parts, Call::PureIntrinsic));
    std::vector<std::pair<std::string, Expr>> lets;
    while (const auto* let = shared.as<Let>()) {
      lets.emplace_back(let->name, let->value);
      shared = Expr(let->body);
    }
    const auto* all = shared.as<Call>();
    if (all == nullptr || all->args.size() != parts.size()) return IRMutator::visit(op);
    std::vector<Stmt> made;
    for (std::size_t i = 0; i < stores.size(); ++i) {
      const auto* store = stores[i].as<Store>();
      made.push_back(Store::make(store->name, all->args[2 * i], all->args[2 * i + 1], store->param,
                                 store->predicate, store->alignment));
    }
    Stmt result = Block::make(made);
    for (const auto& [name, value] : lets | std::views::reverse)
      result = LetStmt::make(name, value, result);
    return result;
  }
};

}  // namespace

void share_rows(Halide::Pipeline& pipeline) {
  pipeline.add_custom_lowering_pass(std::make_unique<ShareRows>().release());  // takes ownership
}

}  // namespace millrace::image
