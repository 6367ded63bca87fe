// Flow: the typed builder of streams.
//
//   auto stream = stream::source("read", [&] { return next_block(file); },  // std::optional<Block>
//                                {.bytes = [](const Block& block) { return block.size(); }})
//                     .stage(Kind::parallel, "compress", [](Block block) { return compressed(block); })
//                     .sink(Kind::serial_in_order, "write", [&](Compressed block) { write(block); });
//   if (!stream) return std::unexpected(stream.error());
//   const Finished finished = stream->run(team);
//
// Functions take their item by value (or rvalue reference): items are moved, never copied. A function of a
// parallel stage is called by several threads at once; that of a serial stage, or a source, by one at a time,
// and each call sees what the one before wrote. A function must not wait for an item that is behind its own:
// perhaps nobody works on that until it returns. Exceptions, and errors returned where a form below says
// Result or Status, fail the item (see Stream::run).
#pragma once

#include "millrace/base/result.h"
#include "millrace/stream/flow_draft.h"
#include "millrace/stream/item/item_type.h"
#include "millrace/stream/item/port.h"
#include "millrace/stream/program/continuation.h"
#include "millrace/stream/program/emission.h"
#include "millrace/stream/program/output.h"
#include "millrace/stream/program/program.h"
#include "millrace/stream/program/state_pool.h"
#include "millrace/stream/program/waiting.h"
#include "millrace/stream/run/stage_options.h"
#include "millrace/stream/stream.h"

#include <concepts>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <ranges>
#include <stop_token>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace millrace::stream {

// Result<X> -> X, anything else as it is.
template <class T> struct WithoutResult {
  using Type = T;
};
template <class T> struct WithoutResult<Result<T>> {
  using Type = T;
};
template <class T> using without_result = typename WithoutResult<T>::Type;

// A function that emits through an Output<U>.
template <class Fn, class T, class U>
concept Emitting = std::invocable<Fn&, T, Output<U>&> &&
                   std::is_void_v<without_result<std::invoke_result_t<Fn&, T, Output<U>&>>>;

// A function that leaves it to a Continuation<U> to say what becomes of its item.
template <class Fn, class T, class U>
concept Awaiting = !Emitting<Fn, T, U> && std::invocable<Fn&, T, Continuation<U>> &&
                   std::is_void_v<without_result<std::invoke_result_t<Fn&, T, Continuation<U>>>>;

// Waiting<X> -> X.
template <class T> struct WaitedFor {};
template <class U> struct WaitedFor<Waiting<U>> {
  using Type = U;
};
// A coroutine that makes what becomes of its item.
template <class Fn, class T>
concept Coroutine =
    std::invocable<Fn&, T> && requires { typename WaitedFor<std::invoke_result_t<Fn&, T>>::Type; };

// A function that changes its item where it lies.
template <class Fn, class T>
concept Changing = !std::invocable<Fn&, T> && std::invocable<Fn&, T&> &&
                   std::is_void_v<without_result<std::invoke_result_t<Fn&, T&>>>;

// std::optional<X> -> X, anything else as it is.
template <class T> struct WithoutOptional {
  using Type = T;
};
template <class T> struct WithoutOptional<std::optional<T>> {
  using Type = T;
};
template <class T> using without_optional = typename WithoutOptional<T>::Type;

// A stream under construction, whose last stage so far puts out T. Every call consumes the flow and returns
// the longer one. Mistakes (a name used twice, a port landed twice) are reported by sink(). Where there is no
// memory they throw std::bad_alloc.
template <class T> class [[nodiscard]] Flow {
 public:
  explicit Flow(FlowDraft draft) : draft_(std::move(draft)) {}

  // A stage that makes one output of every item: U fn(T) or Result<U> fn(T); or of some items, and drops the
  // others: std::optional<U> fn(T) or a Result of it.
  template <class Fn>
    requires(std::invocable<Fn&, T> && !Coroutine<Fn, T>)
  auto stage(Kind kind, std::string name, Fn fn, StageOptions options = {}) && {
    using Made = without_result<std::invoke_result_t<Fn&, T>>;
    using U = without_optional<Made>;
    static_assert(Item<U>, "a stage returns an object that can be moved; what returns nothing is a sink");
    if constexpr (std::same_as<U, Made>) {
      draft_.add(kind, std::move(name), options, item_type<T>(), StageForm::mapping,
                 std::make_unique<Mapping<U, Fn>>(std::move(fn)));
    } else {
      draft_.add(kind, std::move(name), options, item_type<T>(), StageForm::emitting,
                 std::make_unique<EachOf<U, Fn>>(std::move(fn)));
    }
    return Flow<U>(std::move(draft_));
  }

  // A stage that changes the item where it lies: void fn(T&) or Status fn(T&). Nothing is moved, which for
  // large items is most of what a stage costs.
  template <class Fn>
    requires Changing<Fn, T>
  Flow stage(Kind kind, std::string name, Fn fn, StageOptions options = {}) && {
    draft_.add(kind, std::move(name), options, item_type<T>(), StageForm::in_place,
               std::make_unique<ChangingCall<Fn>>(std::move(fn)));
    return Flow(std::move(draft_));
  }

  // A stage that makes any number of outputs of an item, and has them all at hand: fn(T) returns a
  // std::vector, or another range, or a Result of it; what is in it goes on, one by one and in order. (To
  // stage() a vector is an item like any other.)
  template <class Fn>
    requires std::invocable<Fn&, T> && std::ranges::range<without_result<std::invoke_result_t<Fn&, T>>>
  auto expand(Kind kind, std::string name, Fn fn, StageOptions options = {}) && {
    using U = std::ranges::range_value_t<without_result<std::invoke_result_t<Fn&, T>>>;
    static_assert(Item<U>, "what is in the range is an object that can be moved");
    draft_.add(kind, std::move(name), options, item_type<T>(), StageForm::emitting,
               std::make_unique<EachOf<U, Fn>>(std::move(fn)));
    return Flow<U>(std::move(draft_));
  }

  // stage() for a function that needs state which calls must not share, as a buffer or a codec: fn(State&,
  // T). There are as many states as calls at once, made by `make` when they are needed; they live as long as
  // the stream. In which state an item meets its function is not known beforehand.
  template <class Make, class Fn, class State = std::invoke_result_t<Make&>>
    requires std::invocable<Fn&, State&, T>
  auto stage_with(Kind kind, std::string name, Make make, Fn fn, StageOptions options = {}) && {
    auto states = std::make_shared<StatePool<State, Make>>(std::move(make));
    return std::move(*this).stage(
        kind, std::move(name),
        [states = std::move(states), fn = std::move(fn)](T&& item) mutable {
          const auto state = states->borrow();
          return std::invoke(fn, *state, std::move(item));
        },
        options);
  }

  // A stage that waits for something outside the process, and holds no thread meanwhile: void fn(T,
  // Continuation<U>) or Status fn(T, Continuation<U>) begins it and returns, and whoever learns that it is
  // done resumes the item. U is to be named: stage<U>(...). So many items wait at once as tokens allow, and
  // the stage's limit.
  template <Item U, class Fn>
    requires Awaiting<Fn, T, U>
  Flow<U> stage(Kind kind, std::string name, Fn fn, StageOptions options = {}) && {
    draft_.add(kind, std::move(name), options, item_type<T>(), StageForm::waiting,
               std::make_unique<WaitingCall<U, Fn>>(std::move(fn)));
    return Flow<U>(std::move(draft_));
  }

  // The same as a coroutine: Waiting<U> fn(T). It takes its item by value: what a reference refers to is gone
  // when it has been suspended.
  template <class Fn>
    requires Coroutine<Fn, T>
  auto stage(Kind kind, std::string name, Fn fn, StageOptions options = {}) && {
    using U = typename WaitedFor<std::invoke_result_t<Fn&, T>>::Type;
    static_assert(!std::is_void_v<U>, "a coroutine that makes nothing is a sink");
    return std::move(*this).template stage<U>(kind, std::move(name), begun_by<U>(std::move(fn)), options);
  }

  // A stage that emits 0, 1 or n outputs for an item, or past later stages, or ends the stream:
  // void fn(T, Output<U>&) or Status fn(T, Output<U>&). U is to be named: stage<U>(...). A stage that emits
  // nothing to its Output at all is a sink within a branch.
  template <Item U, class Fn>
    requires Emitting<Fn, T, U>
  Flow<U> stage(Kind kind, std::string name, Fn fn, StageOptions options = {}) && {
    draft_.add(kind, std::move(name), options, item_type<T>(), StageForm::emitting,
               std::make_unique<EmittingCall<U, Fn>>(std::move(fn)));
    return Flow<U>(std::move(draft_));
  }

  // Items emitted into `port` go on from here, where items of the flow do.
  Flow land(const Port<T>& port) && {
    draft_.land(port.place_);
    return std::move(*this);
  }

  // Items emitted into `port` go through a branch and then on from here; the flow's own items pass the branch
  // by. `build` gets the branch's Flow<V> and returns it, extended, as a Flow<T>. Several branches in a row
  // fan out and come together again, still in order.
  template <Item V, class Build>
    requires std::same_as<std::invoke_result_t<Build, Flow<V>>, Flow>
  Flow branch(const Port<V>& port, Build&& build) && {
    const FlowDraft::OpenEnds before = draft_.begin_branch(port.place_);
    Flow built = std::invoke(std::forward<Build>(build), Flow<V>(std::move(draft_)));
    built.draft_.end_branch(before, *port.place_);
    return built;
  }

  // The end of the flow: void fn(T) or Status fn(T), or, if it is to end the stream early, the same with an
  // Output<void>&. Usage error that says what was put together wrongly.
  template <class Fn>
    requires(std::invocable<Fn&, T> && std::is_void_v<without_result<std::invoke_result_t<Fn&, T>>>) ||
            Emitting<Fn, T, void>
  [[nodiscard]] Result<Stream> sink(Kind kind, std::string name, Fn fn, StageOptions options = {}) && {
    constexpr StageForm form = Emitting<Fn, T, void> ? StageForm::emitting : StageForm::sink;
    draft_.add(kind, std::move(name), options, item_type<T>(), form,
               std::make_unique<EmittingCall<void, Fn>>(std::move(fn)));
    return draft_.finish();
  }

  // One that waits: void fn(T, Continuation<void>) or Status fn(T, Continuation<void>).
  template <class Fn>
    requires Awaiting<Fn, T, void>
  [[nodiscard]] Result<Stream> sink(Kind kind, std::string name, Fn fn, StageOptions options = {}) && {
    draft_.add(kind, std::move(name), options, item_type<T>(), StageForm::waiting,
               std::make_unique<WaitingCall<void, Fn>>(std::move(fn)));
    return draft_.finish();
  }
  // Or a coroutine: Waiting<void> fn(T).
  template <class Fn>
    requires(Coroutine<Fn, T> && std::same_as<std::invoke_result_t<Fn&, T>, Waiting<void>>)
  [[nodiscard]] Result<Stream> sink(Kind kind, std::string name, Fn fn, StageOptions options = {}) && {
    return std::move(*this).sink(kind, std::move(name), begun_by<void>(std::move(fn)), options);
  }

 private:
  template <class> friend class Flow;

  template <class U, class Fn> static auto begun_by(Fn coroutine) {
    return [coroutine = std::move(coroutine)](T&& item, Continuation<U> continuation) mutable {
      std::invoke(coroutine, std::move(item)).begin(std::move(continuation));
    };
  }

  // Destroys the item at the end of a call, however it ends.
  struct Consumed {
    T& item;
    ~Consumed() { std::destroy_at(&item); }
  };

  template <class U, class Fn> class Mapping final : public StageFunction {
   public:
    explicit Mapping(Fn fn) : fn_(std::move(fn)) {}
    void call(void* item, Emission& out) override {
      if (map(item, out.place(), out)) out.commit();
    }
    bool map(void* item, void* output, Emission& out) override {
      const Consumed input{*static_cast<T*>(item)};
      if constexpr (std::same_as<std::invoke_result_t<Fn&, T>, U>) {
        // Built where it is to stay.
        ::new (output) U(std::invoke(fn_, std::move(input.item)));
      } else {
        auto made = std::invoke(fn_, std::move(input.item));
        if (!made) {
          out.fail(std::move(made.error()));
          return false;
        }
        std::construct_at(static_cast<U*>(output), std::move(*made));
      }
      return true;
    }

   private:
    Fn fn_;
  };

  template <class Fn> class ChangingCall final : public StageFunction {
   public:
    explicit ChangingCall(Fn fn) : fn_(std::move(fn)) {}
    void call(void* item, Emission& out) override {
      if (!map(item, nullptr, out)) return;
      static_cast<void>(out.place());  // it is where it was
      out.commit();
    }
    bool map(void* place, void* /*output*/, Emission& out) override {
      T& item = *static_cast<T*>(place);
      try {
        if constexpr (std::is_void_v<std::invoke_result_t<Fn&, T&>>) {
          std::invoke(fn_, item);
        } else if (Status status = std::invoke(fn_, item); !status) {
          out.fail(std::move(status.error()));
          std::destroy_at(&item);
          return false;
        }
      } catch (...) {
        std::destroy_at(&item);
        throw;
      }
      return true;
    }

   private:
    Fn fn_;
  };

  // Of a function that returns its outputs: an optional one, or a range of them.
  template <class U, class Fn> class EachOf final : public StageFunction {
   public:
    explicit EachOf(Fn fn) : fn_(std::move(fn)) {}
    void call(void* item, Emission& out) override {
      const Consumed input{*static_cast<T*>(item)};
      using Made = std::invoke_result_t<Fn&, T>;
      if constexpr (std::same_as<Made, without_result<Made>>) {
        put(std::invoke(fn_, std::move(input.item)), out);
      } else if (auto made = std::invoke(fn_, std::move(input.item)); made) {
        put(std::move(*made), out);
      } else {
        out.fail(std::move(made.error()));
      }
    }

   private:
    static void put(U&& output, Emission& out) {
      std::construct_at(static_cast<U*>(out.place()), std::move(output));
      out.commit();
    }
    static void put(std::optional<U>&& output, Emission& out) {
      if (output) put(std::move(*output), out);
    }
    template <std::ranges::range Range> static void put(Range&& outputs, Emission& out) {
      for (auto&& output : outputs)
        put(U(std::move(output)), out);
    }

    Fn fn_;
  };

  template <class U, class Fn> class WaitingCall final : public StageFunction {
   public:
    explicit WaitingCall(Fn fn) : fn_(std::move(fn)) {}
    void call(void* /*item*/, Emission& /*out*/) override {}
    void begin(void* item, std::shared_ptr<Wait> wait, Emission& out) override {
      const Consumed input{*static_cast<T*>(item)};
      Continuation<U> continuation(std::move(wait));
      if constexpr (std::is_void_v<std::invoke_result_t<Fn&, T, Continuation<U>>>) {
        std::invoke(fn_, std::move(input.item), std::move(continuation));
      } else if (Status status = std::invoke(fn_, std::move(input.item), std::move(continuation)); !status) {
        out.fail(std::move(status.error()));
      }
    }

   private:
    Fn fn_;
  };

  template <class U, class Fn> class EmittingCall final : public StageFunction {
   public:
    explicit EmittingCall(Fn fn) : fn_(std::move(fn)) {}
    void call(void* item, Emission& out) override {
      const Consumed input{*static_cast<T*>(item)};
      if constexpr (Emitting<Fn, T, U>) {
        Output<U> output(out);
        if constexpr (std::is_void_v<std::invoke_result_t<Fn&, T, Output<U>&>>) {
          std::invoke(fn_, std::move(input.item), output);
        } else if (Status status = std::invoke(fn_, std::move(input.item), output); !status) {
          out.fail(std::move(status.error()));
        }
      } else if constexpr (std::is_void_v<std::invoke_result_t<Fn&, T>>) {
        std::invoke(fn_, std::move(input.item));
      } else if (Status status = std::invoke(fn_, std::move(input.item)); !status) {
        out.fail(std::move(status.error()));
      }
    }
    bool map(void* item, void* /*output*/, Emission& out) override {
      call(item, out);
      return !out.failed();
    }

   private:
    Fn fn_;
  };

  FlowDraft draft_;
};

template <class T> struct SourceOptions {
  // The source waits (for a pipe, a socket) rather than computes: it runs on a thread of its own then.
  bool blocking = false;
  // What an item occupies, with all that its stages will make of it, in bytes; see RunOptions::byte_budget.
  // Called once an item, by the thread of the source. Empty: sizeof(T).
  std::function<std::size_t(const T&)> bytes;
};

template <class Fn> struct SourceResult {
  using Type = std::invoke_result<Fn&>;
};
template <class Fn>
  requires std::invocable<Fn&, std::stop_token>
struct SourceResult<Fn> {
  using Type = std::invoke_result<Fn&, std::stop_token>;
};
// std::optional<T> or Result<std::optional<T>> -> T
template <class Fn>
using source_item = typename without_result<typename SourceResult<Fn>::Type::type>::value_type;

template <class T, class Fn> class SourceCall final : public SourceFunction {
 public:
  SourceCall(Fn fn, std::function<std::size_t(const T&)> bytes)
      : fn_(std::move(fn)), bytes_(std::move(bytes)) {}

  Made next(const std::stop_token& stop, void* place, Emission& out) override {
    auto made = [&] {
      if constexpr (std::invocable<Fn&, std::stop_token>)
        return std::invoke(fn_, stop);
      else
        return std::invoke(fn_);
    }();
    if constexpr (std::same_as<decltype(made), std::optional<T>>) {
      return put(std::move(made), place);
    } else {
      if (made) return put(std::move(*made), place);
      out.fail(std::move(made.error()));
      return {};
    }
  }

 private:
  Made put(std::optional<T> item, void* place) {
    if (!item) return {};
    const std::size_t bytes = bytes_ ? bytes_(*item) : sizeof(T);
    std::construct_at(static_cast<T*>(place), std::move(*item));
    return {true, bytes};
  }

  Fn fn_;
  std::function<std::size_t(const T&)> bytes_;
};

// Starts a stream. fn() or fn(std::stop_token) returns std::optional<T>, none at the end, or a Result of it.
// It is called by one thread at a time and not again after the end, a failure or a stop. One that waits
// should return when the stop_token, that of RunOptions::stop, says so: the run cannot end before it does.
template <class Fn, class T = source_item<Fn>>
  requires Item<T>
[[nodiscard]] Flow<T> source(std::string name, Fn fn, SourceOptions<std::type_identity_t<T>> options = {}) {
  const bool sized = static_cast<bool>(options.bytes);
  return Flow<T>(FlowDraft(std::move(name), options.blocking, sized,
                           std::make_unique<SourceCall<T, Fn>>(std::move(fn), std::move(options.bytes))));
}

}  // namespace millrace::stream
