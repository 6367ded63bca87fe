#include "millrace/run/video/input_thread.h"

#include "millrace/machine/thread/thread_affinity.h"

#include <sched.h>
#include <system_error>

namespace millrace::run {

Result<std::unique_ptr<InputThread>> InputThread::start(const machine::CpuSet& cpus) {
  std::unique_ptr<InputThread> input(new InputThread);
  try {
    input->thread_ = std::thread([&input = *input, cpus] { input.serve(cpus); });
  } catch (const std::system_error& error) {
    return failure("cannot start the thread that writes the input: {}", error.what());
  }
  std::unique_lock lock(input->mutex_);
  input->changed_.wait(lock, [&] { return input->started_; });
  if (!input->bound_) return std::unexpected(input->bound_.error());
  lock.unlock();
  return input;
}

InputThread::~InputThread() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

int InputThread::call(pool::FunctionRef<void()> write) {
  std::unique_lock lock(mutex_);
  write_ = write;
  changed_.notify_all();
  changed_.wait(lock, [&] { return !write_; });
  return cpu_;
}

void InputThread::serve(const machine::CpuSet& cpus) {
  Status bound;
  if (!cpus.empty()) {
    const auto granted = machine::bind_current_thread(cpus);
    if (!granted)
      bound = std::unexpected(granted.error());
    else if (*granted != cpus)
      bound = failure("the thread that writes the input may run on CPU {} only, not on all of {}",
                      granted->to_string(), cpus.to_string());
  }
  std::unique_lock lock(mutex_);
  bound_ = std::move(bound);
  started_ = true;
  changed_.notify_all();
  while (true) {
    changed_.wait(lock, [&] { return stopping_ || write_; });
    if (stopping_) return;
    const auto write = write_;
    lock.unlock();
    write();
    const int cpu = sched_getcpu();
    lock.lock();
    cpu_ = cpu;
    write_ = {};
    changed_.notify_all();
  }
}

}  // namespace millrace::run
