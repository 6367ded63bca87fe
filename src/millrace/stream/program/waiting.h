// Waiting: a coroutine as the function of a stage that waits.
//
//   stage(Kind::parallel, "fetch", [&](Address address) -> Waiting<Page> {
//     const Connection connection = co_await connected(address);
//     co_return co_await answer(connection, "GET /");
//   })
#pragma once

#include "millrace/base/result.h"
#include "millrace/stream/item/item_type.h"
#include "millrace/stream/program/continuation.h"

#include <coroutine>
#include <exception>
#include <optional>
#include <type_traits>
#include <utility>

namespace millrace::stream {

template <class U> class Waiting;

// What a coroutine that makes a U, or nothing for a sink, has beside its body. Not thread-safe, as a
// coroutine is not.
template <class U> class WaitingPromiseBase {
 public:
  void begin(Continuation<U> continuation) { continuation_.emplace(std::move(continuation)); }

  // Not before the item can be resumed.
  [[nodiscard]] std::suspend_always initial_suspend() const noexcept { return {}; }
  void unhandled_exception() noexcept { thrown_ = std::current_exception(); }

 protected:
  // Where nobody knows the continuation, the stage's call has failed.
  std::optional<Continuation<U>> continuation_;
  std::exception_ptr thrown_;
};

template <class U> class WaitingPromise : public WaitingPromiseBase<U> {
 public:
  [[nodiscard]] Waiting<U> get_return_object() noexcept;
  // A U, an empty std::optional<U> for an item that goes no further, or an Error.
  void return_value(Result<std::optional<U>> result) { result_ = std::move(result); }
  // The body's variables are gone by now; the coroutine goes when this has returned.
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

// Returned by a coroutine that is the function of a stage. It begins on a worker, which it leaves at the
// first co_await that suspends it, and goes on where that resumes it. Its co_return, or what it throws, is
// the item's; see Continuation for what that means to the stream, at the end of a run in particular. What it
// captures by reference, as a lambda does, has to exist until it is done, which may be after a run that was
// stopped: pass what it needs as items.
//
// It may await anything; await_callback() makes something awaitable that tells its answer by a callback. It
// goes when it has ended. One that is never resumed stays, with its item, as long as the process.
template <class U> class [[nodiscard]] Waiting {
 public:
  using promise_type = WaitingPromise<U>;

  explicit Waiting(std::coroutine_handle<promise_type> coroutine) : coroutine_(coroutine) {}
  Waiting(Waiting&& other) noexcept : coroutine_(std::exchange(other.coroutine_, nullptr)) {}
  Waiting& operator=(Waiting&&) = delete;
  ~Waiting() {
    if (coroutine_) coroutine_.destroy();
  }

  // Runs it as far as it gets now.
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
    // Not in the coroutine, which may be gone before the call returns.
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

// `co_await await_callback<V>(begin)` calls begin(done) and is the V that `done` is called with: once, by any
// thread, which then goes on with the coroutine. `done` can be copied.
template <Item V, class Begin> [[nodiscard]] auto await_callback(Begin begin) {
  return CallbackAwaiter<V, Begin>(std::move(begin));
}

}  // namespace millrace::stream
