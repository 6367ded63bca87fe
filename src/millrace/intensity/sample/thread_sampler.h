// ThreadSampler: where a thread is and what its registers hold, some times in each second that it computes.
#pragma once

#include "millrace/base/descriptor.h"
#include "millrace/base/result.h"
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
  std::uint64_t instruction = 0;  // the one that is next
  Registers registers{};
};

// What the kernel has noted of a thread, as far as it matters here.
struct SampleReader {
  std::function<void(const Sample&)> sampled;
  // The thread has this name now; executed: because it runs another program.
  std::function<void(const std::string& name, bool executed)> named;
};

// The kernel notes them by a timer of the thread's own CPU time, in memory that it shares with this process:
// any user may ask for that, of threads of their own, where kernel.perf_event_paranoid is 2 or less. x86-64
// alone. A thread that does not run costs nothing. Used by one thread.
class ThreadSampler {
 public:
  // Nothing where there is no such thread, or one that is ending. Failure where it is not permitted, or too
  // many are watched.
  [[nodiscard]] static Result<std::optional<ThreadSampler>> begin(pid_t thread, int for_each_second);
  ThreadSampler(ThreadSampler&& other) noexcept;
  ThreadSampler& operator=(ThreadSampler&&) = delete;
  ~ThreadSampler();

  // Tells of what came since the last time. To be called before there are 50 samples.
  void read(const SampleReader& reader);
  // Not sampled until resume(): switching between threads that are sampled takes a microsecond or two longer.
  void pause();
  void resume();
  // Samples that found no room since it began.
  [[nodiscard]] std::int64_t lost() const { return lost_; }

 private:
  ThreadSampler(Descriptor event, std::byte* ring) : event_(std::move(event)), ring_(ring) {}

  Descriptor event_;
  std::byte* ring_ = nullptr;
  std::int64_t lost_ = 0;
};

// The records of such a ring, which begin with the kernel's perf_event_header. Whatever the bytes, it reads
// none beyond them. Returns how many samples the kernel says were lost.
std::int64_t read_records(std::span<const std::byte> records, const SampleReader& reader);

// Why sampling does not work here, or "" where it does, by sampling this thread.
[[nodiscard]] std::string why_no_sampling();

}  // namespace millrace::intensity
