#include "millrace/machine/probe/pair_probe.h"

#include "millrace/base/error/clock.h"
#include "millrace/base/error/system_reason.h"
#include "millrace/machine/probe/probe_kernels.h"
#include "millrace/machine/thread/thread_affinity.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <optional>
#include <system_error>
#include <thread>

#include <sys/mman.h>
#include <sys/resource.h>

namespace millrace::machine {
namespace {

constexpr std::int64_t window_ns = 700'000;
constexpr std::int64_t lead_ns = 8'000;     // from both threads' arrival to the start
constexpr std::int64_t latest_ns = 60'000;  // a start later than this counts as disturbed
constexpr std::int64_t longest_ns = 95'000'000;
constexpr std::int64_t longest_handover_ns = 10'000'000;
constexpr std::size_t round_bytes = 16 * 1024;

void relax() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

long switches_so_far() {
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  return usage.ru_nivcsw;
}

// State shared by both threads. Memory order: a thread's results of a window are released by its arrival, and
// the creating thread reads them after joining. The last thread to arrive writes `start` once per window; the
// other reads it with acquire.
struct Meeting {
  explicit Meeting(const std::vector<ProbeStep>& all, const std::stop_token& asked)
      : steps(all), stop(asked) {
    for (auto& side : speeds)
      side.resize(all.size());
    for (auto& side : disturbed)
      side.resize(all.size());
    starts = std::vector<std::atomic<std::int64_t>>(all.size());
  }

  const std::vector<ProbeStep>& steps;
  std::stop_token stop;
  std::int64_t deadline = 0;
  std::array<std::vector<double>, 2> speeds;
  std::array<std::vector<char>, 2> disturbed;
  std::vector<std::atomic<std::int64_t>> starts;
  std::array<std::size_t, 2> measured{};
  alignas(128) std::atomic<std::size_t> arrived = 0;
  alignas(128) std::atomic<std::uint64_t> line = 0;
  alignas(128) std::atomic<bool> over = false;
  double handover_ns = 0;
  std::array<std::optional<Error>, 2> errors;
};

// Waits for `there`. Returns false at the deadline or after a stop.
template <class There> bool wait_until(Meeting& meeting, std::int64_t deadline, const There& there) {
  constexpr int looks = 4096;  // between two clock reads
  for (int i = 1; !there(); ++i) {
    relax();
    if (i % looks != 0) continue;
    if (meeting.over.load(std::memory_order_relaxed) || now_ns() > deadline ||
        meeting.stop.stop_requested()) {
      meeting.over.store(true, std::memory_order_relaxed);
      return false;
    }
    // If both threads share one PU, let the other run.
    std::this_thread::yield();
  }
  return true;
}

bool meet(Meeting& meeting, std::size_t times) {
  meeting.arrived.fetch_add(1, std::memory_order_acq_rel);
  return wait_until(meeting, meeting.deadline,
                    [&] { return meeting.arrived.load(std::memory_order_acquire) >= 2 * times; });
}

// Passes a word back and forth; keeps the shortest time of several batches.
void hand_over(Meeting& meeting, std::size_t side) {
  constexpr int batches = 12;
  constexpr std::uint64_t rounds = 100;
  const std::int64_t deadline = std::min(meeting.deadline, now_ns() + longest_handover_ns);
  std::uint64_t value = 0;
  for (int batch = 0; batch < batches; ++batch) {
    const std::int64_t begin = now_ns();
    for (std::uint64_t i = 0; i < rounds; ++i, value += 2) {
      const auto mine = value + side;
      if (!wait_until(meeting, deadline,
                      [&] { return meeting.line.load(std::memory_order_acquire) == mine; }))
        return;
      meeting.line.store(mine + 1, std::memory_order_release);
    }
    const double each = static_cast<double>(now_ns() - begin) / (2 * rounds);
    if (side == 0 && (meeting.handover_ns == 0 || each < meeting.handover_ns)) meeting.handover_ns = each;
  }
}

void sleep_until(std::int64_t ns) {
  constexpr std::int64_t per_second = 1'000'000'000;
  const timespec time{.tv_sec = ns / per_second, .tv_nsec = ns % per_second};
  // CLOCK_MONOTONIC is the clock of now_ns().
  clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, nullptr);
}

void run_window(Meeting& meeting, std::size_t window, std::size_t side, KernelMemory& memory,
                std::int64_t start) {
  const ProbeStep& step = meeting.steps[window];
  const std::optional<SharedUnit> unit = side == 0 ? step.first : step.second;
  const std::int64_t end = start + window_ns;
  if (!unit) {
    sleep_until(end);
    return;
  }
  const ProbeKernel kernel = kernel_of(*unit);
  const long before = switches_so_far();
  while (now_ns() < start)
    relax();
  const std::int64_t begin = now_ns();
  std::int64_t now = 0;
  std::int64_t rounds = 0;
  do {
    kernel(memory);
    ++rounds;
    now = now_ns();
  } while (now < end);
  meeting.speeds[side][window] = static_cast<double>(rounds) / seconds(now - begin);
  meeting.disturbed[side][window] =
      static_cast<char>(begin - start > latest_ns || switches_so_far() != before);
}

void take_part(Meeting& meeting, std::size_t side, int cpu, const std::byte* memory,
               const PerUnit<std::size_t>& bytes) {
  const auto bound = bind_current_thread({cpu});
  if (!bound) {
    meeting.errors[side] = bound.error();
    meeting.over.store(true, std::memory_order_relaxed);
    return;
  }
  PerUnit<KernelMemory> memories;
  for (const SharedUnit unit : all_shared_units)
    memories[unit] = {.data = memory, .bytes = bytes[unit]};
  KernelMemory none;
  if (!meet(meeting, 1)) return;
  hand_over(meeting, side);
  for (std::size_t window = 0; window < meeting.steps.size(); ++window) {
    const std::size_t count = meeting.arrived.fetch_add(1, std::memory_order_acq_rel) + 1;
    if (count == 2 * (window + 2))
      meeting.starts[window].store(now_ns() + lead_ns, std::memory_order_release);
    std::int64_t start = 0;
    if (!wait_until(meeting, meeting.deadline - window_ns, [&] {
          start = meeting.starts[window].load(std::memory_order_acquire);
          return start != 0;
        }))
      return;
    const auto unit = side == 0 ? meeting.steps[window].first : meeting.steps[window].second;
    run_window(meeting, window, side, unit ? memories[*unit] : none, start);
    meeting.measured[side] = window + 1;
  }
}

}  // namespace

void UnmapMemory::operator()(std::byte* memory) const { munmap(memory, bytes); }

Result<PairProbe> PairProbe::make(const Topology& topology, std::uint64_t memory_bytes) {
  constexpr std::size_t mib = 1024 * 1024;
  constexpr std::size_t least_dram = 64 * mib;
  constexpr std::size_t most_dram = 256 * mib;
  const int cpu = topology.cpus().lowest();
  const auto size_of = [](const Cache* cache) {
    return cache == nullptr ? std::size_t{0} : static_cast<std::size_t>(cache->size_bytes);
  };
  const auto whole_rounds = [](std::size_t bytes) {
    return std::max(round_bytes, bytes / round_bytes * round_bytes);
  };
  const std::size_t l2 = size_of(topology.data_cache_of(cpu, 2));
  const std::size_t llc = std::max(size_of(topology.last_level_cache_of(cpu)), 4 * l2);
  PairProbe probe;
  probe.bytes_[SharedUnit::l1] = whole_rounds(size_of(topology.data_cache_of(cpu, 1)) / 2);
  probe.bytes_[SharedUnit::l2] = whole_rounds(l2 / 2);
  probe.bytes_[SharedUnit::llc] = whole_rounds(std::clamp(llc / 4, 2 * l2, std::max(2 * l2, 8 * mib)));
  const std::size_t dram = std::clamp(2 * llc, least_dram, most_dram);
  constexpr std::uint64_t part = 8;  // two buffers of one eighth each
  const auto most = static_cast<std::size_t>(std::min<std::uint64_t>(memory_bytes / part, most_dram));
  probe.bytes_[SharedUnit::dram] =
      std::min(dram, most) >= least_dram ? whole_rounds(std::min(dram, most)) : 0;
  const std::size_t bytes = std::max(probe.bytes_[SharedUnit::dram], probe.bytes_[SharedUnit::llc]);
  for (Memory& memory : probe.memory_) {
    void* const mapped = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED)
      return failure("no {} MiB of memory to probe with: {}", bytes / mib, system_reason(errno));
    memory = Memory(static_cast<std::byte*>(mapped), UnmapMemory{bytes});
    madvise(mapped, bytes, MADV_HUGEPAGE);
    std::memset(mapped, 1, bytes);
  }
  return probe;
}

Result<PairMeasurement> PairProbe::measure(int first, int second, const std::stop_token& stop) {
  std::vector<ProbeStep> steps = probe_steps();
  const auto lacks_memory = [this](const std::optional<SharedUnit>& unit) {
    return unit == SharedUnit::dram && bytes_[SharedUnit::dram] == 0;
  };
  std::erase_if(steps,
                [&](const ProbeStep& step) { return lacks_memory(step.first) || lacks_memory(step.second); });
  Meeting meeting(steps, stop);
  meeting.deadline = now_ns() + longest_ns;
  try {
    const std::jthread other([&] { take_part(meeting, 1, second, memory_[1].get(), bytes_); });
    try {
      const std::jthread one([&] { take_part(meeting, 0, first, memory_[0].get(), bytes_); });
    } catch (...) {
      meeting.over.store(true, std::memory_order_relaxed);
      throw;
    }
  } catch (const std::system_error& error) {
    return failure("no thread to probe with: {}", error.code().message());
  }
  for (const auto& error : meeting.errors)
    if (error) return std::unexpected(*error);
  if (stop.stop_requested()) return std::unexpected(Error{ErrorKind::interrupted, "interrupted"});
  PairMeasurement measurement{.windows = {}, .handover_ns = meeting.handover_ns};
  const std::size_t measured = std::min(meeting.measured[0], meeting.measured[1]);
  for (std::size_t i = 0; i < measured; ++i)
    measurement.windows.push_back(
        {.step = steps[i],
         .first_speed = meeting.speeds[0][i],
         .second_speed = meeting.speeds[1][i],
         .disturbed = meeting.disturbed[0][i] != 0 || meeting.disturbed[1][i] != 0});
  return measurement;
}

std::vector<std::pair<int, int>> pairs_to_probe(const Topology& topology, const CpuSet& cpus) {
  constexpr int few = 8;
  std::vector<std::pair<int, int>> pairs;
  if (cpus.count() <= few) {
    for (const int first : cpus)
      for (const int second : cpus)
        if (first < second) pairs.emplace_back(first, second);
    return pairs;
  }
  int before = -1;
  for (const CpuSet& group : topology.fpu_groups()) {
    const CpuSet usable = group & cpus;
    if (usable.empty()) continue;
    if (before >= 0) pairs.emplace_back(before, usable.lowest());
    for (const int cpu : usable)
      if (cpu != usable.lowest()) pairs.emplace_back(usable.lowest(), cpu);
    before = usable.lowest();
  }
  return pairs;
}

}  // namespace millrace::machine
