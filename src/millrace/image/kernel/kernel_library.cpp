#include "millrace/image/kernel/kernel_library.h"

#include "millrace/base/clock.h"
#include "millrace/image/kernel/built_in_kernels.h"
#include "millrace/image/kernel/compiled_kernel.h"

#include <algorithm>
#include <unistd.h>

#include <sys/resource.h>
#include <sys/syscall.h>

namespace millrace::image {
namespace {

// Compiling recurses deeply; the default stack of a thread is too small for large groups.
constexpr std::size_t compiler_stack = std::size_t{64} << 20;

int nice_value(Urgency urgency) { return urgency == Urgency::urgent ? 5 : 19; }

// Linux keeps a nice value for each thread. It is never lowered here: the whole process may have been started
// with a higher one. No harm where it is refused.
void lower_own_priority(int nice) {
  const auto self = static_cast<id_t>(syscall(SYS_gettid));
  setpriority(PRIO_PROCESS, self, std::max(nice, getpriority(PRIO_PROCESS, self)));
}

}  // namespace

KernelLibrary::~KernelLibrary() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  for (const Compiler& compiler : compilers_) {
    if (compiler.started) pthread_join(compiler.thread, nullptr);
  }
}

KernelLibrary::Entry& KernelLibrary::look_up(const KernelSpec& spec, const Key& key) {
  const auto [position, is_new] = entries_.try_emplace(key);
  Entry& entry = position->second;
  if (!is_new) return entry;
  if (spec.stages.size() == 1 && spec.stored.empty())
    entry.kernel = built_in_kernel(*spec.stages[0].filter, key.second);
  if (!entry.kernel && !options_.just_in_time) {
    const auto object = options_.cache.load(key.first, key.second);
    // What cannot be loaded is compiled anew, and then replaces it.
    auto kernel = object ? load_kernel(spec, *object) : nullptr;
    if (kernel && *kernel) {
      entry.kernel = std::move(*kernel);
      ++loaded_;
    }
  }
  if (entry.kernel) entry.state = State::done;
  return entry;
}

Result<std::shared_ptr<const Kernel>> KernelLibrary::find(const KernelSpec& spec, machine::Isa isa) {
  const std::lock_guard lock(mutex_);
  const Entry& entry = look_up(spec, {spec.key(), isa});
  if (entry.state == State::done && !entry.kernel) return std::unexpected(entry.error);
  return entry.kernel;
}

void KernelLibrary::request(const KernelSpec& spec, machine::Isa isa, Urgency urgency) {
  const std::lock_guard lock(mutex_);
  enqueue(spec, {spec.key(), isa}, urgency);
}

Result<std::shared_ptr<const Kernel>> KernelLibrary::wait(const KernelSpec& spec, machine::Isa isa) {
  const Key key{spec.key(), isa};
  std::unique_lock lock(mutex_);
  enqueue(spec, key, Urgency::urgent);
  const Entry& entry = entries_.at(key);
  changed_.wait(lock, [&] { return entry.state == State::done; });
  if (!entry.kernel) return std::unexpected(entry.error);
  return entry.kernel;
}

void KernelLibrary::enqueue(const KernelSpec& spec, const Key& key, Urgency urgency) {
  Entry& entry = look_up(spec, key);
  if (entry.state == State::done) return;
  auto& waiting = compiler(Urgency::background).queue;
  if (entry.state == State::queued) {
    const auto job = std::ranges::find(waiting, key, &Job::key);
    if (urgency == Urgency::background || job == waiting.end()) return;
    waiting.erase(job);
  }
  entry.state = State::queued;
  compiler(urgency).queue.push_back({spec, key});
  start(urgency);
  changed_.notify_all();
}

template <Urgency urgency> void* KernelLibrary::run_compiler(void* library) {
  static_cast<KernelLibrary*>(library)->compile_loop(urgency);
  return nullptr;
}

void KernelLibrary::start(Urgency urgency) {
  Compiler& own = compiler(urgency);
  if (own.started) return;
  auto* const run =
      urgency == Urgency::urgent ? run_compiler<Urgency::urgent> : run_compiler<Urgency::background>;
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, compiler_stack);
  own.started = pthread_create(&own.thread, &attributes, run, this) == 0;
  pthread_attr_destroy(&attributes);
  if (own.started) return;
  for (const Job& job : own.queue) {
    entries_[job.key] = {.kernel = nullptr,
                         .error = {ErrorKind::failure, "cannot start the compiler's thread"},
                         .state = State::done};
  }
  own.queue.clear();
}

bool KernelLibrary::has_turn(Urgency urgency) {
  if (busy_ || compiler(urgency).queue.empty()) return false;
  return urgency == Urgency::urgent || compiler(Urgency::urgent).queue.empty();
}

bool KernelLibrary::compiling() const {
  const std::lock_guard lock(mutex_);
  return busy_ || std::ranges::any_of(compilers_, [](const Compiler& one) { return !one.queue.empty(); });
}

int KernelLibrary::compiled() const {
  const std::lock_guard lock(mutex_);
  return compiled_;
}

int KernelLibrary::loaded() const {
  const std::lock_guard lock(mutex_);
  return loaded_;
}

double KernelLibrary::compile_seconds() const {
  const std::lock_guard lock(mutex_);
  return seconds(compile_ns_);
}

Result<std::shared_ptr<const Kernel>> KernelLibrary::compile(const Job& job,
                                                             std::vector<std::byte>& object) const {
  if (options_.just_in_time) return compile_just_in_time(job.spec, job.key.second);
  auto compiled = compile_object(job.spec, job.key.second);
  if (!compiled) return std::unexpected(compiled.error());
  object = std::move(*compiled);
  return load_kernel(job.spec, object);
}

void KernelLibrary::compile_loop(Urgency urgency) {
  lower_own_priority(nice_value(urgency));
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return stopping_ || has_turn(urgency); });
    if (stopping_) return;
    const Job job = std::move(compiler(urgency).queue.front());
    compiler(urgency).queue.pop_front();
    busy_ = true;
    lock.unlock();
    const std::int64_t start = now_ns();
    std::vector<std::byte> object;
    auto kernel = compile(job, object);
    const std::int64_t spent = now_ns() - start;
    lock.lock();
    Entry& entry = entries_[job.key];
    if (kernel)
      entry.kernel = std::move(*kernel);
    else
      entry.error = kernel.error();
    entry.state = State::done;
    ++compiled_;
    compile_ns_ += spent;
    changed_.notify_all();
    if (entry.kernel && !object.empty()) {
      lock.unlock();
      options_.cache.store(job.key.first, job.key.second, object);
      lock.lock();
    }
    busy_ = false;
    changed_.notify_all();
  }
}

}  // namespace millrace::image
