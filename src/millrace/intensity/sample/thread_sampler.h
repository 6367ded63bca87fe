// ThreadSampler: samples a thread's position and registers several times per second of its CPU time.
#pragma once

#include "millrace/base/descriptor/descriptor.h"
#include "millrace/base/error/result.h"
#include "millrace/intensity/decode/instruction.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include <sys/types.h>

namespace millrace::intensity {

struct Sample {
  std::uint64_t instruction = 0;  // the next one to be executed
  Registers registers{};
};

// Receives the kernel's records of a thread.
struct SampleReader {
  std::function<void(const Sample&)> sampled;
  // The thread has a new name. executed: because it runs another program.
  std::function<void(const std::string& name, bool executed)> named;
};

// A timer on the thread's own CPU time triggers the samples. The kernel writes them to memory shared with
// this process. Any user may sample their own threads if kernel.perf_event_paranoid is 2 or less. x86-64
// only. A thread that does not run costs nothing. Not thread-safe.
class ThreadSampler {
 public:
  // Returns nothing if the thread does not exist or is ending. Fails if sampling is not permitted or too many
  // threads are sampled.
  [[nodiscard]] static Result<std::optional<ThreadSampler>> begin(pid_t thread, int for_each_second);
  ThreadSampler(ThreadSampler&& other) noexcept;
  ThreadSampler& operator=(ThreadSampler&&) = delete;
  ~ThreadSampler();

  // Delivers the records since the last call. Call this before there are 50 samples.
  void read(const SampleReader& reader);
  // Suspends sampling until resume(). A switch between sampled threads takes one or two microseconds longer.
  void pause();
  void resume();
  // Samples dropped for lack of space since the beginning.
  [[nodiscard]] std::int64_t lost() const { return lost_; }

 private:
  ThreadSampler(Descriptor event, std::byte* ring) : event_(std::move(event)), ring_(ring) {}

  Descriptor event_;
  std::byte* ring_ = nullptr;
  std::int64_t lost_ = 0;
};

// Parses the records of such a ring, each of which begins with a perf_event_header. Accepts any bytes and
// never reads beyond them. Returns the number of lost samples that the kernel reports.
std::int64_t read_records(std::span<const std::byte> records, const SampleReader& reader);

// Tests sampling on this thread. Returns the reason why it does not work; "" if it does.
[[nodiscard]] std::string why_no_sampling();

}  // namespace millrace::intensity
