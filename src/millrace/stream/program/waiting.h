// Waiting: a coroutine as the function of a stage that waits.
//
//   stage(Kind::parallel, "fetch", [&](Address address) -> Waiting<Page> {
//     const Connection connection = co_await connected(address);
//     co_return co_await answer(connection, "GET /");
//   })
#pragma once

#include "millrace/base/error/result.h"
#include "millrace/stream/item/item_type.h"
#include "millrace/stream/program/continuation.h"

#include <coroutine>
#include <exception>
#include <optional>
#include <type_traits>
#include <utility>

namespace millrace::stream {

template <class U> class Waiting;

// The promise of a coroutine that makes a U, or nothing for a sink. Not thread-safe, like the coroutine
// itself.
template <class U> class WaitingPromiseBase {
 public:
  void begin(Continuation<U> continuation) { continuation_.emplace(std::move(continuation)); }

  // Suspended until the continuation is known.
  [[nodiscard]] std::suspend_always initial_suspend() const noexcept { return {}; }
  void unhandled_exception() noexcept { thrown_ = std::current_exception(); }

 protected:
  // Empty if the coroutine never began. The stage's call then failed.
  std::optional<Continuation<U>> continuation_;
  std::exception_ptr thrown_;
};

template <class U> class WaitingPromise : public WaitingPromiseBase<U> {
 public:
  [[nodiscard]] Waiting<U> get_return_object() noexcept;
  // A U, an empty std::optional<U> to drop the item, or an Error.
  void return_value(Result<std::optional<U>> result) { result_ = std::move(result); }
  // The body's variables are already destroyed. The coroutine is destroyed when this returns.
  [[nodiscard]] std::suspend_never final_suspend() noexcept {
    if (this->thrown_)
      this->continuation_->fail(std::move(this->thrown_));
    else if (!result_)
      this->continuation_->fail(std::move(result_.error()));
    else if (*result_)
      this->continuation_->resume(std::move(**result_));
    else
      this->continuation_->drop();
    return {};
  }

 private:
  Result<std::optional<U>> result_;
};

template <> class WaitingPromise<void> : public WaitingPromiseBase<void> {
 public:
  [[nodiscard]] Waiting<void> get_return_object() noexcept;
  void return_void() noexcept {}
  [[nodiscard]] std::suspend_never final_suspend() noexcept {
    if (thrown_)
      continuation_->fail(std::move(thrown_));
    else
      continuation_->resume();
    return {};
  }
};

// Returned by a coroutine that is the function of a stage. It starts on a worker, leaves it at the first
// co_await that suspends, and continues on the thread that resumes it. Its co_return value or exception
// settles the item; see Continuation for the effect on the stream, especially at the end of a run. Objects
// that it captures by reference, including those captured by a lambda, must exist until it is done. That can
// be after a stopped run has returned, so pass what it needs as items.
//
// It can await anything. await_callback() makes an operation with a callback awaitable. The coroutine is
// destroyed when it ends. One that is never resumed is leaked together with its item.
template <class U> class [[nodiscard]] Waiting {
 public:
  using promise_type = WaitingPromise<U>;

  explicit Waiting(std::coroutine_handle<promise_type> coroutine) : coroutine_(coroutine) {}
  Waiting(Waiting&& other) noexcept : coroutine_(std::exchange(other.coroutine_, nullptr)) {}
  Waiting& operator=(Waiting&&) = delete;
  ~Waiting() {
    if (coroutine_) coroutine_.destroy();
  }

  // Runs it until it first suspends or ends.
  void begin(Continuation<U> continuation) && {
    const auto coroutine = std::exchange(coroutine_, nullptr);
    coroutine.promise().begin(std::move(continuation));
    coroutine.resume();
  }

 private:
  std::coroutine_handle<promise_type> coroutine_;
};

template <class U> Waiting<U> WaitingPromise<U>::get_return_object() noexcept {
  return Waiting<U>(std::coroutine_handle<WaitingPromise>::from_promise(*this));
}
inline Waiting<void> WaitingPromise<void>::get_return_object() noexcept {
  return Waiting<void>(std::coroutine_handle<WaitingPromise>::from_promise(*this));
}

template <class V, class Begin> class [[nodiscard]] CallbackAwaiter {
 public:
  explicit CallbackAwaiter(Begin begin) : begin_(std::move(begin)) {}

  [[nodiscard]] bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> coroutine) {
    // Moved to the stack, because the coroutine may be destroyed before the call returns.
    Begin begin = std::move(begin_);
    begin([this, coroutine](V answer) {
      answer_.emplace(std::move(answer));
      coroutine.resume();
    });
  }
  V await_resume() { return std::move(*answer_); }

 private:
  Begin begin_;
  std::optional<V> answer_;
};

// `co_await await_callback<V>(begin)` calls begin(done) and yields the V passed to `done`. Call `done`
// exactly once, from any thread; that thread continues the coroutine. `done` is copyable.
template <Item V, class Begin> [[nodiscard]] auto await_callback(Begin begin) {
  return CallbackAwaiter<V, Begin>(std::move(begin));
}

}  // namespace millrace::stream
