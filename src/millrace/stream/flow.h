// Flow: the typed builder of streams.
//
//   auto stream = stream::source("read", [&] { return next_block(file); },  // std::optional<Block>
//                                {.bytes = [](const Block& block) { return block.size(); }})
//                     .stage(Kind::parallel, "compress", [](Block block) { return compressed(block); })
//                     .sink(Kind::serial_in_order, "write", [&](Compressed block) { write(block); });
//   if (!stream) return std::unexpected(stream.error());
//   const Finished finished = stream->run(team);
//
// Functions take their item by value (or rvalue reference). Items are moved, never copied. Several threads
// call the function of a parallel stage at once. A serial stage or a source is called by one thread at a
// time, and each call sees what the previous one wrote. A function must not wait for an item later than its
// own, because there may be no thread to process that item until the function returns. Exceptions fail the
// item (see Stream::run), and so do errors returned by functions whose form below has Result or Status.
#pragma once

#include "millrace/base/error/result.h"
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

// Result<X> -> X. Other types are unchanged.
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

// A function that settles its item later, through a Continuation<U>.
template <class Fn, class T, class U>
concept Awaiting = !Emitting<Fn, T, U> && std::invocable<Fn&, T, Continuation<U>> &&
                   std::is_void_v<without_result<std::invoke_result_t<Fn&, T, Continuation<U>>>>;

// Waiting<X> -> X.
template <class T> struct WaitedFor {};
template <class U> struct WaitedFor<Waiting<U>> {
  using Type = U;
};
// A coroutine that settles its item.
template <class Fn, class T>
concept Coroutine =
    std::invocable<Fn&, T> && requires { typename WaitedFor<std::invoke_result_t<Fn&, T>>::Type; };

// A function that changes its item in place.
template <class Fn, class T>
concept Changing = !std::invocable<Fn&, T> && std::invocable<Fn&, T&> &&
                   std::is_void_v<without_result<std::invoke_result_t<Fn&, T&>>>;

// std::optional<X> -> X. Other types are unchanged.
template <class T> struct WithoutOptional {
  using Type = T;
};
template <class T> struct WithoutOptional<std::optional<T>> {
  using Type = T;
};
template <class T> using without_optional = typename WithoutOptional<T>::Type;

// A stream under construction whose last stage outputs T. Every call consumes the flow and returns the
// extended one. Mistakes (a name used twice, a port landed twice) are reported by sink(). Calls throw
// std::bad_alloc if memory runs out.
template <class T> class [[nodiscard]] Flow {
 public:
  explicit Flow(FlowDraft draft) : draft_(std::move(draft)) {}

  // A stage with one output for every item: U fn(T) or Result<U> fn(T). To drop some items, return
  // std::optional<U> or a Result of it.
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
      draft_.add(kind, std::move(name), options, item_type<T>(), StageForm::filtering,
                 std::make_unique<EachOf<U, Fn>>(std::move(fn)));
    }
    return Flow<U>(std::move(draft_));
  }

  // A stage that changes the item in place: void fn(T&) or Status fn(T&). Nothing is moved. For large items,
  // moves are most of the cost of a stage.
  template <class Fn>
    requires Changing<Fn, T>
  Flow stage(Kind kind, std::string name, Fn fn, StageOptions options = {}) && {
    draft_.add(kind, std::move(name), options, item_type<T>(), StageForm::in_place,
               std::make_unique<ChangingCall<Fn>>(std::move(fn)));
    return Flow(std::move(draft_));
  }

  // A stage that returns all outputs of an item together: fn(T) returns a std::vector, another range, or a
  // Result of one. The elements go on one by one, in order. (stage() treats a vector as a single item.)
  template <class Fn>
    requires std::invocable<Fn&, T> && std::ranges::range<without_result<std::invoke_result_t<Fn&, T>>>
  auto expand(Kind kind, std::string name, Fn fn, StageOptions options = {}) && {
    using U = std::ranges::range_value_t<without_result<std::invoke_result_t<Fn&, T>>>;
    static_assert(Item<U>, "what is in the range is an object that can be moved");
    draft_.add(kind, std::move(name), options, item_type<T>(), StageForm::emitting,
               std::make_unique<EachOf<U, Fn>>(std::move(fn)));
    return Flow<U>(std::move(draft_));
  }

  // stage() for a function with state that calls must not share, such as a buffer or a codec: fn(State&, T).
  // There are as many states as concurrent calls. `make` creates them on demand, and they live as long as the
  // stream. Any state can be used for any item.
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

  // A stage that waits for something outside the process without holding a thread: void fn(T,
  // Continuation<U>) or Status fn(T, Continuation<U>). The function starts the operation and returns. Any
  // thread that learns of its completion resumes the item. Name U explicitly: stage<U>(...). The number of
  // items that can wait at once is limited by the tokens and by the stage's limit.
  template <Item U, class Fn>
    requires Awaiting<Fn, T, U>
  Flow<U> stage(Kind kind, std::string name, Fn fn, StageOptions options = {}) && {
    draft_.add(kind, std::move(name), options, item_type<T>(), StageForm::waiting,
               std::make_unique<WaitingCall<U, Fn>>(std::move(fn)));
    return Flow<U>(std::move(draft_));
  }

  // The same as a coroutine: Waiting<U> fn(T). It takes its item by value, because a reference dangles once
  // the coroutine has been suspended.
  template <class Fn>
    requires Coroutine<Fn, T>
  auto stage(Kind kind, std::string name, Fn fn, StageOptions options = {}) && {
    using U = typename WaitedFor<std::invoke_result_t<Fn&, T>>::Type;
    static_assert(!std::is_void_v<U>, "a coroutine that makes nothing is a sink");
    return std::move(*this).template stage<U>(kind, std::move(name), begun_by<U>(std::move(fn)), options);
  }

  // A stage that emits 0, 1 or n outputs for an item, can send them past later stages, and can end the
  // stream: void fn(T, Output<U>&) or Status fn(T, Output<U>&). Name U explicitly: stage<U>(...). A stage
  // that never emits to its Output is a sink within a branch.
  template <Item U, class Fn>
    requires Emitting<Fn, T, U>
  Flow<U> stage(Kind kind, std::string name, Fn fn, StageOptions options = {}) && {
    draft_.add(kind, std::move(name), options, item_type<T>(), StageForm::emitting,
               std::make_unique<EmittingCall<U, Fn>>(std::move(fn)));
    return Flow<U>(std::move(draft_));
  }

  // Items emitted into `port` rejoin the flow here.
  Flow land(const Port<T>& port) && {
    draft_.land(port.place_);
    return std::move(*this);
  }

  // Items emitted into `port` go through a branch and then rejoin the flow here. The flow's own items skip
  // the branch. `build` gets the branch's Flow<V> and returns it, extended, as a Flow<T>. Several branches in
  // a row fan out and join again, still in order.
  template <Item V, class Build>
    requires std::same_as<std::invoke_result_t<Build, Flow<V>>, Flow>
  Flow branch(const Port<V>& port, Build&& build) && {
    const FlowDraft::OpenEnds before = draft_.begin_branch(port.place_);
    Flow built = std::invoke(std::forward<Build>(build), Flow<V>(std::move(draft_)));
    built.draft_.end_branch(before, *port.place_);
    return built;
  }

  // The end of the flow: void fn(T) or Status fn(T). To end the stream early, also take an Output<void>&.
  // Returns a usage error that describes the first mistake in the flow.
  template <class Fn>
    requires(std::invocable<Fn&, T> && std::is_void_v<without_result<std::invoke_result_t<Fn&, T>>>) ||
            Emitting<Fn, T, void>
  [[nodiscard]] Result<Stream> sink(Kind kind, std::string name, Fn fn, StageOptions options = {}) && {
    constexpr StageForm form = Emitting<Fn, T, void> ? StageForm::emitting : StageForm::sink;
    draft_.add(kind, std::move(name), options, item_type<T>(), form,
               std::make_unique<EmittingCall<void, Fn>>(std::move(fn)));
    return draft_.finish();
  }

  // A sink that waits: void fn(T, Continuation<void>) or Status fn(T, Continuation<void>).
  template <class Fn>
    requires Awaiting<Fn, T, void>
  [[nodiscard]] Result<Stream> sink(Kind kind, std::string name, Fn fn, StageOptions options = {}) && {
    draft_.add(kind, std::move(name), options, item_type<T>(), StageForm::waiting,
               std::make_unique<WaitingCall<void, Fn>>(std::move(fn)));
    return draft_.finish();
  }
  // A sink that is a coroutine: Waiting<void> fn(T).
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

  // Destroys the item when a call returns or throws.
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
        // Constructed directly in its final place.
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
      static_cast<void>(out.place());  // The item is already in place.
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

  // Wraps a function that returns its outputs as an optional or a range.
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
  // The source waits (for a pipe, a socket) rather than computes. It then runs on a thread of its own.
  bool blocking = false;
  // Memory of an item in bytes, including all that its stages make of it; see RunOptions::byte_budget. Called
  // once per item by the source's thread. If empty, sizeof(T) is used.
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

// Starts a stream. fn() or fn(std::stop_token) returns std::optional<T>, which is empty at the end, or a
// Result of it. It is called by one thread at a time, and not again after the end, a failure or a stop. A
// source that waits should return when the stop_token (RunOptions::stop) requests it, because the run cannot
// end earlier.
template <class Fn, class T = source_item<Fn>>
  requires Item<T>
[[nodiscard]] Flow<T> source(std::string name, Fn fn, SourceOptions<std::type_identity_t<T>> options = {}) {
  const bool sized = static_cast<bool>(options.bytes);
  return Flow<T>(FlowDraft(std::move(name), options.blocking, sized,
                           std::make_unique<SourceCall<T, Fn>>(std::move(fn), std::move(options.bytes))));
}

}  // namespace millrace::stream
