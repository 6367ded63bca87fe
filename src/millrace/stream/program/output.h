// Output: through which a stage that emits 0, 1 or n outputs for an item hands them on.
#pragma once

#include "millrace/stream/item/item_type.h"
#include "millrace/stream/item/port.h"
#include "millrace/stream/program/emission.h"

#include <concepts>
#include <memory>
#include <type_traits>
#include <utility>

namespace millrace::stream {

// Given to a stage's function for one call and of no use after it. Outputs go on when the call has returned,
// in the order in which they were emitted, whether to the next stage or to ports; if it fails, they do not.
// They are charged to the byte budget as the source's item that they stem from, so what multiplies data
// without bound should be the source. Not thread-safe.
template <class U> class Output {
 public:
  explicit Output(Emission& emission) : emission_(&emission) {}

  // To the next stage. (A template so that Output<void>, which cannot, is a type all the same.)
  template <Item V = U> void emit(std::type_identity_t<V> output) {
    static_assert(std::same_as<U, V>);
    std::construct_at(static_cast<V*>(emission_->place()), std::move(output));
    emission_->commit();
  }

  // To the stage where `port` is landed. Fails the call when that is not behind the emitting stage in the
  // same stream.
  template <Item V> void emit(const Port<V>& port, std::type_identity_t<V> output) {
    const std::uint32_t destination = emission_->port_destination(*port.place_);
    std::construct_at(static_cast<V*>(emission_->place(destination)), std::move(output));
    emission_->commit();
  }

  // Ends the stream behind this item: its outputs go on, what comes after them in the order of the source
  // does not, and the source is not asked again. Stages that are not in order may have seen later items
  // already.
  void end_stream() { emission_->end_stream(); }

 private:
  Emission* emission_;
};

}  // namespace millrace::stream
