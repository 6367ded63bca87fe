#include "millrace/run/compare/bench_stream.h"

#include "millrace/machine/thread/thread_affinity.h"
#include "millrace/machine/topology/affinity_arrangement.h"
#include "millrace/run/video/frame_views.h"
#include "millrace/video/reader.h"

namespace millrace::run {
namespace {

// More than a schedule processes at a time, but few enough to stay in the caches as in a real stream.
constexpr int frames_in_memory = 8;

}  // namespace

machine::CpuSet cpus_of_streams(const machine::MachineReport& machine, int threads) {
  if (threads >= machine.usable.cpus.count()) return machine.usable.cpus;
  // One CPU of each core before a second CPU of any.
  const auto plan =
      machine::arrange(machine.topology, machine.usable.cpus,
                       {.arrangement = machine::AffinityArrangement::pinned, .workers = threads});
  if (!plan) return machine.usable.cpus;
  machine::CpuSet cpus;
  for (const machine::CpuSet& worker : plan->workers)
    cpus |= worker;
  return cpus;
}

Result<MemoryFrames> MemoryFrames::make(const video::FrameFormat& input, const video::FrameFormat& output) {
  auto reader = video::open_reader(fmt::format("test:{}x{}@{}", input.width, input.height, frames_in_memory));
  if (!reader) return std::unexpected(reader.error());
  MemoryFrames frames;
  frames.outputs_ = std::make_unique<video::FramePool>(output);
  for (int f = 0; f < frames_in_memory; ++f) {
    auto before = (*reader)->next();
    if (!before) return std::unexpected(before.error());
    auto after = frames.outputs_->acquire();
    if (!after) return std::unexpected(after.error());
    frames.before_.push_back(std::move(**before));
    frames.after_.push_back(std::move(*after));
  }
  for (int f = 0; f < frames_in_memory; ++f) {
    const auto i = static_cast<std::size_t>(f);
    frames.tasks_.push_back({run::views_of(frames.before_[i]), run::views_of(frames.after_[i])});
  }
  return frames;
}

std::vector<image::FrameTask> MemoryFrames::next(std::int64_t frame, int count) const {
  std::vector<image::FrameTask> tasks;
  for (int i = 0; i < count; ++i)
    tasks.push_back(tasks_[static_cast<std::size_t>(frame + i) % tasks_.size()]);
  return tasks;
}

BenchStream::BenchStream(const machine::MachineReport& machine, int threads)
    : machine_(machine), thread_([this, threads] { serve(threads); }) {}

Result<std::unique_ptr<BenchStream>> BenchStream::start(const machine::MachineReport& machine, int threads) {
  std::unique_ptr<BenchStream> stream(new BenchStream(machine, threads));
  std::unique_lock lock(stream->mutex_);
  stream->changed_.wait(lock, [&] { return stream->started_; });
  if (!stream->result_) return std::unexpected(stream->result_.error());
  return stream;
}

BenchStream::~BenchStream() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void BenchStream::serve(int threads) {
  image::KernelLibrary library;  // created before the thread is pinned, because compilers may run anywhere
  // With fewer threads than CPUs, two streams would each stay on different CPUs. A neighbour of a virtual
  // machine can slow some CPUs down for minutes.
  machine::CpuSet cpus = cpus_of_streams(machine_, threads);
  if (cpus != machine_.usable.cpus && !machine::bind_current_thread(cpus)) cpus = machine_.usable.cpus;
  auto pool = pool::WorkerPool::create(threads);
  std::unique_lock lock(mutex_);
  started_ = true;
  if (!pool) result_ = std::unexpected(pool.error());
  changed_.notify_all();
  if (!pool) return;
  image::Executor executor(**pool, library, machine_.topology, cpus);
  executor.time_stages_every(0);
  while (true) {
    changed_.wait(lock, [&] { return stopping_ || job_ != nullptr; });
    if (job_ == nullptr) return;
    const auto* job = job_;
    lock.unlock();
    Status done = (*job)(executor, library);
    lock.lock();
    result_ = std::move(done);
    job_ = nullptr;
    changed_.notify_all();
  }
}

Status BenchStream::work(const std::function<Status(image::Executor&, image::KernelLibrary&)>& job) {
  std::unique_lock lock(mutex_);
  job_ = &job;
  changed_.notify_all();
  changed_.wait(lock, [&] { return job_ == nullptr; });
  return result_;
}

}  // namespace millrace::run
