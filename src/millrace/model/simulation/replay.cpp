#include "millrace/model/simulation/replay.h"

namespace millrace::model {

void Replay::begin(int token, std::int64_t source_item) {
  const auto index = static_cast<std::size_t>(token);
  if (index >= carried_.size()) carried_.resize(index + 1);
  const auto recorded = static_cast<std::size_t>(source_item) % recorded_->items.size();
  Carried& carried = carried_[index];
  carried.calls = &recorded_->items[recorded];
  carried.stages.assign(carried.calls->size(), {});
}

bool Replay::bypasses(int token, int stage) {
  Carried& carried = at(token);
  const auto s = static_cast<std::size_t>(stage);
  if (carried.stages[s].taken == (*carried.calls)[s].seconds.size()) return true;
  ++carried.stages[s].taken;
  return false;
}

double Replay::service(int token, int stage) {
  Carried& carried = at(token);
  const auto s = static_cast<std::size_t>(stage);
  return (*carried.calls)[s].seconds[carried.stages[s].begun++];
}

int Replay::outputs(int token, int stage) {
  Carried& carried = at(token);
  const auto s = static_cast<std::size_t>(stage);
  return (*carried.calls)[s].outputs[carried.stages[s].ended++];
}

}  // namespace millrace::model
