#include "millrace/image/kernel/kernel_library.h"

#include "millrace/base/error/clock.h"
#include "millrace/base/error/without_exceptions.h"
#include "millrace/image/kernel/built_in_kernels.h"
#include "millrace/image/kernel/compiled_kernel.h"
#include "millrace/image/kernel/elf_object.h"
#include "millrace/image/kernel/formula_kernel.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <new>

namespace millrace::image {
namespace {

// How long an idle compiler is kept: starting one takes as long as compiling a small kernel.
constexpr std::chrono::milliseconds linger{500};

KernelLibraryOptions with_cpus(KernelLibraryOptions options) {
  if (options.compiler.cpus.empty()) options.compiler.cpus = machine::mask_of_thread(0);
  return options;
}

}  // namespace

KernelLibrary::KernelLibrary(KernelLibraryOptions options) : options_(with_cpus(std::move(options))) {}

KernelLibrary::~KernelLibrary() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    for (const Worker& worker : workers_) {
      if (worker.cancel) worker.cancel->stop();
    }
  }
  changed_.notify_all();
  for (Worker& worker : workers_) {
    if (worker.thread.joinable()) worker.thread.join();
  }
}

KernelLibrary::Entry& KernelLibrary::look_up(const KernelSpec& spec, const Key& key) {
  const auto [position, is_new] = entries_.try_emplace(key);
  Entry& entry = position->second;
  if (!is_new) return entry;
  if (key.first == single_stage(spec.stages[0].filter).key())
    entry.kernel = built_in_kernel(*spec.stages[0].filter, key.second);
  if (!entry.kernel && can_load_objects) {
    const auto object = options_.cache.load(key.first, key.second);
    // An object that cannot be loaded is compiled again and replaced.
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

Result<std::shared_ptr<const Kernel>> KernelLibrary::wait(const KernelSpec& spec, machine::Isa isa,
                                                          const std::stop_token& stop) {
  const Key key{spec.key(), isa};
  std::unique_lock lock(mutex_);
  enqueue(spec, key, Urgency::urgent);
  const Entry& entry = entries_.at(key);
  if (!changed_.wait(lock, stop, [&] { return entry.state == State::done; }))
    return std::unexpected(Error{ErrorKind::interrupted, "waiting for a kernel was stopped"});
  if (!entry.kernel) return std::unexpected(entry.error);
  return entry.kernel;
}

void KernelLibrary::enqueue(const KernelSpec& spec, const Key& key, Urgency urgency) {
  Entry& entry = look_up(spec, key);
  if (entry.state == State::queued) {
    if (urgency == Urgency::urgent) make_urgent(spec, key);
    return;
  }
  if (entry.state == State::done && !entry.try_again) return;
  if (!can_load_objects) {
    fail(entry, spec,
         {CompileFailure::Kind::refused,
          {ErrorKind::failure, "fused kernels can be compiled on x86-64 only"}});
    return;
  }
  worker(urgency).queue.push_back({spec, key});
  entry = {.kernel = nullptr, .error = {}, .state = State::queued};
  start(urgency);
  changed_.notify_all();
}

void KernelLibrary::make_urgent(const KernelSpec& spec, const Key& key) {
  Worker& urgent = worker(Urgency::urgent);
  Worker& background = worker(Urgency::background);
  if (urgent.current == key || std::ranges::find(urgent.queue, key, &Job::key) != urgent.queue.end()) return;
  std::erase_if(background.queue, [&](const Job& job) { return job.key == key; });
  if (background.current == key) background.cancel->stop();
  urgent.queue.push_back({spec, key});
  start(Urgency::urgent);
  changed_.notify_all();
}

void KernelLibrary::start(Urgency urgency) {
  Worker& own = worker(urgency);
  if (own.thread.joinable()) return;
  try {
    own.thread = std::thread([this, urgency] { serve(urgency); });
  } catch (const std::exception& error) {  // std::system_error, or no memory for its stack
    for (const Job& job : own.queue)
      fail(entries_[job.key], job.spec,
           {CompileFailure::Kind::not_run,
            {ErrorKind::failure, fmt::format("cannot start a thread for the compiler: {}", error.what())}});
    own.queue.clear();
  }
}

bool KernelLibrary::compiling() const {
  const std::lock_guard lock(mutex_);
  return std::ranges::any_of(workers_, [](const Worker& one) { return one.current || !one.queue.empty(); });
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

std::optional<Error> KernelLibrary::first_error() const {
  const std::lock_guard lock(mutex_);
  return first_error_;
}

void KernelLibrary::fail(Entry& entry, const KernelSpec& spec, const CompileFailure& failure) {
  entry = {.kernel = formula_kernel(spec),
           .error = failure.error,
           .state = State::done,
           .try_again = failure.kind == CompileFailure::Kind::not_run};
  if (!first_error_) first_error_ = failure.error;
}

void KernelLibrary::serve(Urgency urgency) {
  Worker& own = worker(urgency);
  KernelCompiler compiler(options_.compiler, urgency);
  const auto has_work = [&] { return stopping_ || !own.queue.empty(); };
  std::unique_lock lock(mutex_);
  while (true) {
    if (compiler.running() && !changed_.wait_for(lock, linger, has_work)) {
      lock.unlock();
      compiler.stop();
      lock.lock();
    }
    changed_.wait(lock, has_work);
    if (stopping_) return;
    const Job job = std::move(own.queue.front());
    own.queue.pop_front();
    const Status done = without_exceptions([&]() -> Status {
      compile(job, own, compiler, lock);
      return {};
    });
    if (!lock.owns_lock()) lock.lock();
    if (!done) give_up(job, done.error());
    own.current.reset();
    own.cancel.reset();
    changed_.notify_all();
  }
}

// Called if memory runs out.
void KernelLibrary::give_up(const Job& job, const Error& error) noexcept {
  Entry& entry = entries_.find(job.key)->second;
  const auto waits_for = [&](const Worker& one) {
    return std::ranges::find(one.queue, job.key, &Job::key) != one.queue.end();
  };
  // It was made urgent meanwhile and belongs to the other worker.
  if (entry.state == State::done || std::ranges::any_of(workers_, waits_for)) return;
  try {
    fail(entry, job.spec, {CompileFailure::Kind::not_run, error});
  } catch (const std::bad_alloc&) {
    entry.error = failure_saying(error.message.c_str());
    entry.state = State::done;
    entry.try_again = true;
    if (!first_error_) first_error_ = failure_saying(error.message.c_str());
  }
}

void KernelLibrary::compile(const Job& job, Worker& worker, KernelCompiler& compiler,
                            std::unique_lock<std::mutex>& lock) {
  // It was already being compiled in the background when it was made urgent, and is done now.
  if (entries_[job.key].state == State::done) return;
  worker.current = job.key;
  worker.cancel = std::make_unique<StoppableWait>();
  const StoppableWait& cancel = *worker.cancel;

  lock.unlock();
  const std::int64_t start = now_ns();
  const auto object = compiler.compile(job.spec, job.key.second, cancel);
  auto kernel = object ? load_kernel(job.spec, *object) : nullptr;
  const std::int64_t spent = now_ns() - start;
  lock.lock();

  Entry& entry = entries_[job.key];
  if (entry.state == State::done) return;
  if (!object && object.error().kind == CompileFailure::Kind::cancelled) return;
  compile_ns_ += spent;
  if (!object) {
    if (object.error().kind == CompileFailure::Kind::refused) ++compiled_;
    fail(entry, job.spec, object.error());
    return;
  }
  ++compiled_;
  if (!kernel) {
    fail(entry, job.spec, {CompileFailure::Kind::refused, kernel.error()});
    return;
  }
  entry.kernel = std::move(*kernel);
  entry.state = State::done;
  changed_.notify_all();
  lock.unlock();
  options_.cache.store(job.key.first, job.key.second, *object);
  lock.lock();
}

}  // namespace millrace::image
