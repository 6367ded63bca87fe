#include "millrace/image/kernel_library.h"

#include "millrace/base/clock.h"
#include "millrace/image/built_in_kernels.h"
#include "millrace/image/kernel_builder.h"

#include <Halide.h>
#include <unistd.h>

#include <sys/resource.h>
#include <sys/syscall.h>

namespace millrace::image {
namespace {

// Compiling recurses deeply; the default stack of a thread is too small for large groups.
constexpr std::size_t compiler_stack = std::size_t{64} << 20;
constexpr int lowest_priority = 19;

class CompiledKernel final : public Kernel {
 public:
  CompiledKernel(const KernelSpec& spec, const Halide::Target& target) : Kernel(spec) {
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
Result<std::shared_ptr<const Kernel>> compile(const KernelSpec& spec, machine::Isa isa) {
  try {
    return std::make_shared<CompiledKernel>(spec, kernel_target(isa));
  } catch (const std::exception& error) {
    return failure("cannot compile the fused kernel {}: {}", spec.key(), error.what());
  }
}

}  // namespace

KernelLibrary::~KernelLibrary() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    if (!started_) return;
  }
  changed_.notify_all();
  pthread_join(thread_, nullptr);
}

Result<std::shared_ptr<const Kernel>> KernelLibrary::find(const KernelSpec& spec, machine::Isa isa) {
  Key key{spec.key(), isa};
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(key);
  if (found != entries_.end()) {
    const Entry& entry = found->second;
    if (entry.done && !entry.kernel) return std::unexpected(entry.error);
    return entry.kernel;
  }
  if (spec.stages.size() == 1 && spec.stored.empty()) {
    if (auto kernel = built_in_kernel(*spec.stages[0].filter, isa)) {
      entries_[std::move(key)] = {.kernel = kernel, .error = {}, .done = true};
      return kernel;
    }
  }
  return nullptr;
}

void KernelLibrary::request(const KernelSpec& spec, machine::Isa isa) {
  const auto known = find(spec, isa);
  if (!known || *known) return;
  const std::lock_guard lock(mutex_);
  enqueue(spec, {spec.key(), isa});
}

void KernelLibrary::enqueue(const KernelSpec& spec, const Key& key) {
  if (entries_.contains(key)) return;
  entries_[key];
  queue_.emplace_back(spec, key);
  if (!started_) {
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, compiler_stack);
    started_ = pthread_create(
                   &thread_, &attributes,
                   [](void* self) -> void* {
                     static_cast<KernelLibrary*>(self)->compile_loop();
                     return nullptr;
                   },
                   this) == 0;
    pthread_attr_destroy(&attributes);
    if (!started_) {
      entries_[key] = {.kernel = nullptr,
                       .error = {ErrorKind::failure, "cannot start the compiler's thread"},
                       .done = true};
      queue_.clear();
    }
  }
  changed_.notify_all();
}

Result<std::shared_ptr<const Kernel>> KernelLibrary::wait(const KernelSpec& spec, machine::Isa isa) {
  auto known = find(spec, isa);
  if (!known || *known) return known;
  const Key key{spec.key(), isa};
  std::unique_lock lock(mutex_);
  enqueue(spec, key);
  changed_.wait(lock, [&] { return entries_[key].done; });
  const Entry& entry = entries_[key];
  if (!entry.kernel) return std::unexpected(entry.error);
  return entry.kernel;
}

bool KernelLibrary::compiling() const {
  const std::lock_guard lock(mutex_);
  return busy_ || !queue_.empty();
}

int KernelLibrary::compiled() const {
  const std::lock_guard lock(mutex_);
  return compiled_;
}

double KernelLibrary::compile_seconds() const {
  const std::lock_guard lock(mutex_);
  return seconds(compile_ns_);
}

void KernelLibrary::compile_loop() {
  // Linux keeps a nice value for each thread. The work in the foreground comes first; no harm where it is
  // refused.
  setpriority(PRIO_PROCESS, static_cast<id_t>(syscall(SYS_gettid)), lowest_priority);
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return stopping_ || !queue_.empty(); });
    if (stopping_) return;
    auto [spec, key] = std::move(queue_.front());
    queue_.pop_front();
    busy_ = true;
    lock.unlock();
    const std::int64_t start = now_ns();
    auto kernel = compile(spec, key.second);
    const std::int64_t spent = now_ns() - start;
    lock.lock();
    Entry& entry = entries_[key];
    if (kernel)
      entry.kernel = *kernel;
    else
      entry.error = kernel.error();
    entry.done = true;
    busy_ = false;
    ++compiled_;
    compile_ns_ += spent;
    changed_.notify_all();
  }
}

}  // namespace millrace::image
