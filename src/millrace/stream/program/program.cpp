#include "millrace/stream/program/program.h"

#include <ranges>

namespace millrace::stream {

void Program::order_stages() {
  bool orders_later = false;
  for (Stage& stage : std::views::reverse(stages)) {
    const bool admits_few = stage.kind == Kind::serial_as_they_come || stage.options.limit > 0;
    stage.in_order = stage.kind == Kind::serial_in_order ||
                     (orders_later && admits_few && stage.form == StageForm::emitting);
    orders_later |= stage.in_order;
  }
  ordinals = 0;
  for (Stage& stage : stages) {
    stage.ordinal = ordinals;
    if (stage.in_order) ++ordinals;
  }
}

}  // namespace millrace::stream
