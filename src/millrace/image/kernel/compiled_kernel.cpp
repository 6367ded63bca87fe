#include "millrace/image/kernel/compiled_kernel.h"

#include "millrace/image/kernel/elf_object.h"
#include "millrace/image/kernel/halide/kernel_builder.h"

#include <Halide.h>
#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

namespace millrace::image {
namespace {

constexpr const char* object_function = "millrace_kernel";
constexpr const char* entry = "millrace_kernel_argv";  // Halide's name for the form with one argument

class LoadedKernel final : public Kernel {
 public:
  using Function = int (*)(void** arguments);

  LoadedKernel(const KernelSpec& spec, ElfObject object, Function function)
      : Kernel(spec), object_(std::move(object)), function_(function) {}

 private:
  int invoke(std::span<void*> arguments) const override { return function_(arguments.data()); }

  ElfObject object_;
  Function function_;
};

class JitKernel final : public Kernel {
 public:
  JitKernel(const KernelSpec& spec, const Halide::Target& target) : Kernel(spec) {
    BuiltKernel built = build_kernel(spec, target);
    callable_ = built.pipeline.compile_to_callable(built.arguments, target);
  }

 private:
  int invoke(std::span<void*> arguments) const override {
    // Halide writes error texts into the context, so each call has its own. Without this handler it would
    // throw.
    Halide::JITUserContext context;
    context.handlers.custom_error = [](Halide::JITUserContext*, const char*) {};
    Halide::JITUserContext* context_pointer = &context;
    std::array<const void*, 512> all;
    all[0] = &context_pointer;
    std::ranges::copy(arguments, all.begin() + 1);
    return callable_.call_argv_fast(arguments.size() + 1, all.data());
  }

  mutable Halide::Callable callable_;
};

// No exception leaves the compiler: a group that it refuses is an error like any other.
template <class Compile>
auto without_exceptions(const KernelSpec& spec, Compile compile) -> Result<decltype(compile())> {
  try {
    return compile();
  } catch (const std::exception& error) {
    return failure("cannot compile the fused kernel {}: {}", spec.key(), error.what());
  }
}

}  // namespace

Result<std::vector<std::byte>> compile_object(const KernelSpec& spec, machine::Isa isa) {
  return without_exceptions(spec, [&] {
    // A kernel that checks its arguments would call into Halide's runtime.
    const Halide::Target target = without_checks(kernel_target(isa)).with_feature(Halide::Target::NoRuntime);
    BuiltKernel built = build_kernel(spec, target);
    const auto code =
        built.pipeline.compile_to_module(built.arguments, object_function, target).compile_to_buffer();
    std::vector<std::byte> object(code.size_in_bytes());
    std::memcpy(object.data(), code.data(), object.size());
    return object;
  });
}

Result<std::shared_ptr<const Kernel>> load_kernel(const KernelSpec& spec, std::span<const std::byte> object) {
  auto loaded = ElfObject::load(object);
  if (!loaded) return std::unexpected(loaded.error());
  const void* const address = loaded->function(entry);
  if (address == nullptr) return failure("the object of the fused kernel {} has no {}", spec.key(), entry);
  // The address moves with nothing: the object owns a mapping.
  const auto function = std::bit_cast<LoadedKernel::Function>(address);
  return std::make_shared<LoadedKernel>(spec, std::move(*loaded), function);
}

Result<std::shared_ptr<const Kernel>> compile_just_in_time(const KernelSpec& spec, machine::Isa isa) {
  return without_exceptions(spec, [&]() -> std::shared_ptr<const Kernel> {
    return std::make_shared<JitKernel>(spec, kernel_target(isa));
  });
}

}  // namespace millrace::image
