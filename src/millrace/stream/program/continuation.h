// Continuation: by which an item goes on that waits for something outside the process.
#pragma once

#include "millrace/base/result.h"
#include "millrace/stream/item/item_type.h"
#include "millrace/stream/program/wait.h"

#include <concepts>
#include <exception>
#include <memory>
#include <type_traits>
#include <utility>

namespace millrace::stream {

// Given to the function of a stage that waits: for a network, a disk, a device, a timer. The function begins
// what is to be waited for and returns; whoever learns that it is done resumes the item, from any thread, at
// any time, also before the function has returned. No thread is held meanwhile. To the stream, the call lasts
// until then: a serial stage takes no other item, a limit counts it, and the order, the tokens and the bytes
// of the stream are what they would be.
//
// A handle, to be copied freely, also into callbacks that have to be copied. Of all copies the first that is
// used counts: each function below returns true if it was the first; otherwise what it was given is destroyed
// and nothing happens, so a timer and an answer may race. They return false, too, when the run has given the
// item up, at a stop or behind a failure or the end of the stream, and when the run is over: then what was
// waited for may come as late as it likes, or never. The run does not wait for it; so what the operation uses
// must not be taken from under it when the run returns.
//
// When the last copy is destroyed unused, the item fails. One that is kept and never used keeps the run from
// ending, but for a stop.
//
// Thread-safe; each copy is used by one thread at a time.
template <class U> class Continuation {
 public:
  explicit Continuation(std::shared_ptr<Wait> wait) : wait_(std::move(wait)) {}

  // The item goes on as `output`. May wake a thread; calls nothing of the stream's and does not wait.
  template <Item V = U> bool resume(std::type_identity_t<V> output) const {
    static_assert(std::same_as<U, V>);
    return wait_->succeed(
        [](void* place, void* from) noexcept {
          std::construct_at(static_cast<V*>(place), std::move(*static_cast<V*>(from)));
        },
        &output);
  }
  // Of a sink: the item is done.
  bool resume() const
    requires std::is_void_v<U>
  {
    return wait_->drop();
  }
  // The item goes no further, and that is no failure.
  bool drop() const { return wait_->drop(); }
  // The item fails, as if the function had returned the error or thrown.
  bool fail(Error error) const { return wait_->fail(std::move(error)); }
  bool fail(std::exception_ptr thrown) const { return wait_->fail(std::move(thrown)); }

  // Whether it is no use to go on with what is waited for: the item was resumed, or given up.
  [[nodiscard]] bool is_over() const { return wait_->is_over(); }

 private:
  std::shared_ptr<Wait> wait_;
};

}  // namespace millrace::stream
