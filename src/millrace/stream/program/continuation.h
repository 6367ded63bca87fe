// Continuation: resumes an item that waits for something outside the process.
#pragma once

#include "millrace/base/error/result.h"
#include "millrace/stream/item/item_type.h"
#include "millrace/stream/program/wait.h"

#include <concepts>
#include <exception>
#include <memory>
#include <type_traits>
#include <utility>

namespace millrace::stream {

// Passed to the function of a stage that waits for a network, a disk, a device or a timer. The function
// starts the operation and returns. Any thread that learns of its completion resumes the item, at any time,
// even before the function has returned. No thread is held in the meantime. For the stream, the call lasts
// until then: a serial stage takes no other item, a limit counts it, and order, tokens and bytes are
// accounted as usual.
//
// A handle that can be copied freely, also into callbacks that must be copyable. Only the first use of any
// copy counts. Each function below returns true for that first use. Otherwise it destroys its argument and
// does nothing, so a timer and an answer may race. The functions also return false if the run has given up
// the item (after a stop, or because the item comes after a failure or the end of the stream), and after the
// run is over. The result may then arrive late or never, and the run does not wait for it. So whatever the
// operation uses must stay valid after the run returns.
//
// If the last copy is destroyed unused, the item fails. A copy that is kept and never used keeps the run from
// ending, unless it is stopped.
//
// Thread-safe, but each copy may only be used by one thread at a time.
template <class U> class Continuation {
 public:
  explicit Continuation(std::shared_ptr<Wait> wait) : wait_(std::move(wait)) {}

  // The item goes on as `output`. May wake a thread. Does not wait and calls no function of the stream.
  template <Item V = U> bool resume(std::type_identity_t<V> output) const {
    static_assert(std::same_as<U, V>);
    return wait_->succeed(
        [](void* place, void* from) noexcept {
          std::construct_at(static_cast<V*>(place), std::move(*static_cast<V*>(from)));
        },
        &output);
  }
  // For a sink: the item is done.
  bool resume() const
    requires std::is_void_v<U>
  {
    return wait_->drop();
  }
  // Drops the item. This is not a failure.
  bool drop() const { return wait_->drop(); }
  // The item fails, as if the function had returned the error or thrown the exception.
  bool fail(Error error) const { return wait_->fail(std::move(error)); }
  bool fail(std::exception_ptr thrown) const { return wait_->fail(std::move(thrown)); }

  // Whether the result is no longer needed: the item was resumed or given up.
  [[nodiscard]] bool is_over() const { return wait_->is_over(); }

 private:
  std::shared_ptr<Wait> wait_;
};

}  // namespace millrace::stream
