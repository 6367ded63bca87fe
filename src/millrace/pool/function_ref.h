// FunctionRef: a non-owning reference to a callable, two words in size. Passing work to a team must not
// allocate, which std::function may do.
#pragma once

#include <concepts>
#include <functional>
#include <memory>
#include <type_traits>
#include <utility>

namespace millrace::pool {

template <class Signature> class FunctionRef;

// The callable must outlive every call. A temporary in a function argument is safe until that function
// returns, but not longer. Copies refer to the same callable. A default-constructed reference is empty and
// must not be called.
template <class R, class... Args> class FunctionRef<R(Args...)> {
 public:
  FunctionRef() = default;

  template <class F>
    requires(!std::same_as<std::remove_cvref_t<F>, FunctionRef> &&
             std::is_object_v<std::remove_reference_t<F>> && std::is_invocable_r_v<R, F&, Args...>)
  FunctionRef(F&& callable)  // NOLINT(bugprone-forwarding-reference-overload): constrained above
      : object_(const_cast<void*>(static_cast<const void*>(std::addressof(callable)))),
        call_([](void* object, Args... args) -> R {
          auto& target = *static_cast<std::remove_reference_t<F>*>(object);
          return std::invoke(target, std::forward<Args>(args)...);
        }) {}

  R operator()(Args... args) const { return call_(object_, std::forward<Args>(args)...); }

  explicit operator bool() const { return call_ != nullptr; }

 private:
  void* object_ = nullptr;
  R (*call_)(void*, Args...) = nullptr;
};

}  // namespace millrace::pool
