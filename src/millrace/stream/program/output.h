// Output: receives the 0, 1 or n outputs that a stage emits for an item.
#pragma once

#include "millrace/stream/item/item_type.h"
#include "millrace/stream/item/port.h"
#include "millrace/stream/program/emission.h"

#include <concepts>
#include <memory>
#include <type_traits>
#include <utility>

namespace millrace::stream {

// Valid during one call of a stage's function. Outputs go on after the call has returned, in the order of
// emission, whether to the next stage or to ports. If the call fails, they are discarded. Not thread-safe.
//
// If a call makes many outputs (an eighth of RunOptions::byte_budget, 64 KiB to 1 MiB), emit() passes them on
// and waits for room. Outputs that have gone on are not discarded. The thread runs other items meanwhile,
// also with the same function if the stage is parallel, so hold no lock and use no thread-local variable
// across emit(). If the stream has ended before the next output, emit() throws, which ends the call.
//
// Some calls keep their outputs instead, and fail if these exceed both the byte budget and 256 MiB: all calls
// with the strategy `tbb`; and calls of stages that take items as they come or have a limit, if a stage in
// order follows, while earlier items may still enter the stage.
template <class U> class Output {
 public:
  explicit Output(Emission& emission) : emission_(&emission) {}

  // To the next stage. (A template, so that Output<void> is a valid type although it has no next stage.)
  template <Item V = U> void emit(std::type_identity_t<V> output) {
    static_assert(std::same_as<U, V>);
    std::construct_at(static_cast<V*>(emission_->place()), std::move(output));
    emission_->commit();
  }

  // To the stage where `port` is landed. Fails the call if that is not a later stage of the same stream.
  template <Item V> void emit(const Port<V>& port, std::type_identity_t<V> output) {
    const std::uint32_t destination = emission_->port_destination(*port.place_);
    std::construct_at(static_cast<V*>(emission_->place(destination)), std::move(output));
    emission_->commit();
  }

  // Ends the stream after this item. Its outputs go on, later items in source order do not, and the source is
  // not called again. Stages that are not in order may already have seen later items.
  void end_stream() { emission_->end_stream(); }

 private:
  Emission* emission_;
};

}  // namespace millrace::stream
