#include "millrace/stream/program/emission.h"

#include "millrace/stream/program/program.h"

#include <stdexcept>

namespace millrace::stream {

std::uint32_t Emission::port_destination(const PortPlace& port) const {
  if (port.stream && port.stream != program_->identity)
    throw std::logic_error(fmt::format(
        "emits into port '{}', which is landed in another stream; give each stream a port of its own",
        port.name));
  if (port.stage <= static_cast<int>(token_->position))
    throw std::logic_error(fmt::format("emits into port '{}', which no later branch of this stream receives; "
                                       "add the branch after this stage",
                                       port.name));
  return static_cast<std::uint32_t>(port.stage);
}

Token* Emission::new_child(std::uint32_t destination) {
  children_.push_back(tokens_->make());
  children_.back()->position = destination;
  return children_.back();
}

void* Emission::place_further(std::uint32_t destination) {
  if (children_.empty() && handed_on_ == 0) {
    Token* const first = new_child(first_destination_);
    program_->stages[first_destination_].input.relocate(token_->other_area(), first->item());
    first->has_item = true;
  }
  if (kept() >= batch_) relay_->hand_on(*this);
  return new_child(destination)->item();
}

void Emission::discard() {
  if (children_.empty() && count_ == 1 && handed_on_ == 0)
    program_->stages[first_destination_].input.destroy(token_->other_area());
  while (Token* const child = children_.pop_front()) {
    if (child->has_item) program_->stages[child->position].input.destroy(child->item());
    child->has_item = false;
    tokens_->recycle(child);
  }
  count_ = handed_on_;
}

}  // namespace millrace::stream
