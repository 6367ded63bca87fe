#include "millrace/intensity/sample/thread_sampler.h"

#include "millrace/base/error/system_reason.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <unistd.h>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>

namespace millrace::intensity {
namespace {

// The kernel's register numbers in machine code order: ax, cx, dx, bx, sp, bp, si, di, r8 to r15. They are
// spelled out because asm/perf_regs.h of other architectures does not have them.
constexpr std::array<unsigned, general_registers> kernel_number{0,  2,  3,  1,  7,  6,  4,  5,
                                                                16, 17, 18, 19, 20, 21, 22, 23};
constexpr unsigned instruction_pointer = 8;
constexpr std::size_t sampled_registers = general_registers + 1;

constexpr std::uint64_t register_mask() {
  std::uint64_t mask = std::uint64_t{1} << instruction_pointer;
  for (const unsigned number : kernel_number)
    mask |= std::uint64_t{1} << number;
  return mask;
}

// The position in a record: how many sampled registers come before it.
constexpr std::size_t place_in_record(unsigned number) {
  std::size_t place = 0;
  for (unsigned other = 0; other < number; ++other)
    if ((register_mask() >> other & 1) != 0) ++place;
  return place;
}

std::size_t page_size() { return static_cast<std::size_t>(sysconf(_SC_PAGESIZE)); }
constexpr std::size_t ring_pages = 2;

template <class Value> Value value_at(std::span<const std::byte> bytes, std::size_t offset) {
  Value value{};
  std::memcpy(&value, bytes.data() + offset, sizeof(value));
  return value;
}

void read_sample(std::span<const std::byte> record, const SampleReader& reader) {
  constexpr std::size_t abi_at = sizeof(perf_event_header);
  constexpr std::size_t registers_at = abi_at + sizeof(std::uint64_t);
  if (record.size() < registers_at + sampled_registers * sizeof(std::uint64_t)) return;
  if (value_at<std::uint64_t>(record, abi_at) != PERF_SAMPLE_REGS_ABI_64) return;
  const auto register_at = [&](unsigned number) {
    return value_at<std::uint64_t>(record, registers_at + place_in_record(number) * sizeof(std::uint64_t));
  };
  Sample sample{.instruction = register_at(instruction_pointer)};
  for (std::size_t i = 0; i < general_registers; ++i)
    sample.registers[i] = register_at(kernel_number[i]);
  reader.sampled(sample);
}

void read_name(std::span<const std::byte> record, std::uint16_t misc, const SampleReader& reader) {
  constexpr std::size_t name_at = sizeof(perf_event_header) + 2 * sizeof(std::uint32_t);
  if (record.size() <= name_at) return;
  const auto* const text = reinterpret_cast<const char*>(record.data()) + name_at;
  reader.named(std::string(text, strnlen(text, record.size() - name_at)),
               (misc & PERF_RECORD_MISC_COMM_EXEC) != 0);
}

// Returns a closed descriptor if there is no such thread.
Result<Descriptor> open_event(pid_t thread, int for_each_second) {
  perf_event_attr wanted{};
  wanted.type = PERF_TYPE_SOFTWARE;
  wanted.size = sizeof(wanted);
  wanted.config = PERF_COUNT_SW_TASK_CLOCK;
  constexpr std::uint64_t second_ns = 1'000'000'000;
  wanted.sample_period = second_ns / static_cast<std::uint64_t>(std::max(for_each_second, 1));
  wanted.sample_type = PERF_SAMPLE_REGS_USER;
  wanted.sample_regs_user = register_mask();
  wanted.exclude_kernel = 1;  // unprivileged users may not sample the kernel
  wanted.exclude_hv = 1;
  wanted.comm = 1;
  wanted.comm_exec = 1;
  // No wake-ups: the ring is polled.
  wanted.watermark = 1;
  wanted.wakeup_watermark = static_cast<std::uint32_t>(ring_pages * page_size());
  constexpr int any_cpu = -1;
  auto event = Descriptor::owned(static_cast<int>(syscall(SYS_perf_event_open, &wanted, thread, any_cpu, -1,
                                                          static_cast<unsigned long>(PERF_FLAG_FD_CLOEXEC))));
  if (event.is_open()) return event;
  switch (errno) {
  case EACCES:
  case EPERM:
    return failure(
        "sampling is not permitted (kernel.perf_event_paranoid above 2, another user's thread, or a "
        "container without perf_event_open)");
  case ESRCH:
    return Descriptor();
  case EMFILE:
  case ENFILE:
    return failure("too many files are open (RLIMIT_NOFILE)");
  default:
    return failure("perf_event_open: {}", system_reason(errno));
  }
}

}  // namespace

std::int64_t read_records(std::span<const std::byte> records, const SampleReader& reader) {
  std::int64_t lost = 0;
  while (records.size() >= sizeof(perf_event_header)) {
    const auto header = value_at<perf_event_header>(records, 0);
    if (header.size < sizeof(header) || header.size > records.size()) break;
    const auto record = records.first(header.size);
    records = records.subspan(header.size);
    constexpr std::size_t lost_at = sizeof(perf_event_header) + sizeof(std::uint64_t);
    if (header.type == PERF_RECORD_SAMPLE) read_sample(record, reader);
    if (header.type == PERF_RECORD_COMM) read_name(record, header.misc, reader);
    if (header.type == PERF_RECORD_LOST && record.size() >= lost_at + sizeof(std::uint64_t))
      lost += static_cast<std::int64_t>(value_at<std::uint64_t>(record, lost_at));
  }
  return lost;
}

Result<std::optional<ThreadSampler>> ThreadSampler::begin(pid_t thread, int for_each_second) {
#if defined(__x86_64__)
  auto event = open_event(thread, for_each_second);
  if (!event) return std::unexpected(event.error());
  if (!event->is_open()) return std::nullopt;
  void* ring =
      mmap(nullptr, (1 + ring_pages) * page_size(), PROT_READ | PROT_WRITE, MAP_SHARED, event->get(), 0);
  if (ring == MAP_FAILED)
    return failure("no memory is shared with the kernel for more threads: {} (RLIMIT_MEMLOCK, "
                   "kernel.perf_event_mlock_kb)",
                   system_reason(errno));
  return ThreadSampler(std::move(*event), static_cast<std::byte*>(ring));
#else
  static_cast<void>(thread);
  static_cast<void>(for_each_second);
  return failure("instructions of this architecture are not known; they are sampled on x86-64 only");
#endif
}

ThreadSampler::ThreadSampler(ThreadSampler&& other) noexcept
    : event_(std::move(other.event_)), ring_(std::exchange(other.ring_, nullptr)), lost_(other.lost_) {}

ThreadSampler::~ThreadSampler() {
  if (ring_ != nullptr) munmap(ring_, (1 + ring_pages) * page_size());
}

void ThreadSampler::read(const SampleReader& reader) {
  auto& control = *reinterpret_cast<perf_event_mmap_page*>(ring_);
  // The order that the kernel's side requires. Acquire: records are written before the head announces them.
  // Release: they are read before the tail frees their space.
  const std::uint64_t head = std::atomic_ref(control.data_head).load(std::memory_order_acquire);
  const std::uint64_t tail = control.data_tail;
  if (head == tail) return;
  const std::size_t size = ring_pages * page_size();
  const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(head - tail, size));
  const std::byte* data = ring_ + page_size();
  std::vector<std::byte> records(count);
  const std::size_t from = tail % size;
  const std::size_t before_end = std::min(count, size - from);
  std::copy_n(data + from, before_end, records.begin());
  std::copy_n(data, count - before_end, records.begin() + static_cast<std::ptrdiff_t>(before_end));
  std::atomic_ref(control.data_tail).store(head, std::memory_order_release);
  lost_ += read_records(records, reader);
}

void ThreadSampler::pause() { ioctl(event_.get(), PERF_EVENT_IOC_DISABLE, 0); }

void ThreadSampler::resume() { ioctl(event_.get(), PERF_EVENT_IOC_ENABLE, 0); }

std::string why_no_sampling() {
  const auto own = ThreadSampler::begin(0, 1);
  return own ? "" : own.error().message;
}

}  // namespace millrace::intensity
