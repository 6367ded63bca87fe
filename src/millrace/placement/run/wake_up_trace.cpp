#include "millrace/placement/run/wake_up_trace.h"

#include "millrace/base/file/system_file.h"
#include "millrace/base/text/parse_number.h"
#include "millrace/placement/task/task_files.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <numeric>
#include <unistd.h>

#include <fmt/format.h>
#include <linux/perf_event.h>
#include <sys/mman.h>
#include <sys/syscall.h>

namespace millrace::placement {
namespace {

constexpr std::string_view event_folder = "/sys/kernel/tracing/events/sched/sched_waking";
constexpr std::size_t name_size = 16;
// Per CPU: room for three thousand wake-ups, more than happen in a tenth of a second.
constexpr std::size_t ring_size = std::size_t{1} << 18;

// The kernel's flags in each record.
constexpr unsigned in_hard_interrupt = 0x08;
constexpr unsigned in_soft_interrupt = 0x10;

std::size_t page_size() { return static_cast<std::size_t>(sysconf(_SC_PAGESIZE)); }

// Offset of the field whose declaration ends with `name`: "field:pid_t pid;	offset:24;	size:4;
// signed:1;".
std::optional<std::size_t> offset_of(std::string_view text, std::string_view name) {
  const std::size_t field = text.find(fmt::format(" {};", name));
  if (field == std::string_view::npos) return std::nullopt;
  constexpr std::string_view label = "offset:";
  const std::size_t found = text.find(label, field);
  if (found == std::string_view::npos) return std::nullopt;
  text.remove_prefix(found + label.size());
  return parse_number<std::size_t>(text.substr(0, text.find(';')));
}

template <class Value> Value value_at(std::span<const std::byte> bytes, std::size_t offset) {
  Value value{};
  std::memcpy(&value, bytes.data() + offset, sizeof(value));
  return value;
}

}  // namespace

std::optional<WakingFormat> WakingFormat::parse(std::string_view text) {
  const auto flags = offset_of(text, "common_flags");
  const auto woken = offset_of(text, "pid");
  const auto name = offset_of(text, "comm[16]");
  if (!flags || !woken || !name) return std::nullopt;
  return WakingFormat{*flags, *woken, *name};
}

std::optional<Waking> parse_waking(std::span<const std::byte> record, const WakingFormat& format) {
  const std::size_t needed =
      std::max({format.flags + 1, format.woken + sizeof(pid_t), format.name + name_size});
  if (record.size() < needed) return std::nullopt;
  Waking waking;
  waking.woken = value_at<pid_t>(record, format.woken);
  const auto name = value_at<std::array<char, name_size>>(record, format.name);
  waking.name.assign(name.data(), strnlen(name.data(), name.size()));
  const auto flags = value_at<unsigned char>(record, format.flags);
  waking.by_interrupt = (flags & (in_hard_interrupt | in_soft_interrupt)) != 0;
  return waking;
}

std::optional<WakeUpTrace> WakeUpTrace::begin() {
  const auto id_text = read_system_file(fmt::format("{}/id", event_folder));
  const auto format_text = read_system_file(fmt::format("{}/format", event_folder));
  if (!id_text || !format_text) return std::nullopt;
  const auto id = parse_number<std::uint64_t>(std::string_view(*id_text).substr(0, id_text->find('\n')));
  const auto format = WakingFormat::parse(*format_text);
  if (!id || !format) return std::nullopt;
  perf_event_attr wanted{};
  wanted.type = PERF_TYPE_TRACEPOINT;
  wanted.size = sizeof(wanted);
  wanted.config = *id;
  wanted.sample_period = 1;
  wanted.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_RAW;
  WakeUpTrace trace(*format);
  const long cpus = sysconf(_SC_NPROCESSORS_CONF);
  for (int cpu = 0; cpu < cpus; ++cpu) {
    Ring ring{Descriptor::owned(static_cast<int>(syscall(SYS_perf_event_open, &wanted, -1, cpu, -1,
                                                         static_cast<unsigned long>(PERF_FLAG_FD_CLOEXEC))))};
    if (!ring.event.is_open()) continue;  // not permitted, or the CPU is offline
    void* start =
        mmap(nullptr, page_size() + ring_size, PROT_READ | PROT_WRITE, MAP_SHARED, ring.event.get(), 0);
    if (start == MAP_FAILED) continue;
    ring.start = static_cast<std::byte*>(start);
    trace.rings_.push_back(std::move(ring));
  }
  if (trace.rings_.empty()) return std::nullopt;
  return trace;
}

WakeUpTrace::~WakeUpTrace() {
  for (const Ring& ring : rings_)
    munmap(ring.start, page_size() + ring_size);
}

void WakeUpTrace::read(const std::vector<pid_t>& threads) {
  const std::unordered_set<pid_t> known(threads.begin(), threads.end());
  for (const Ring& ring : rings_)
    read(ring, known);
}

void WakeUpTrace::read(const Ring& ring, const std::unordered_set<pid_t>& threads) {
  auto& control = *reinterpret_cast<perf_event_mmap_page*>(ring.start);
  // The order that the kernel's side requires. Acquire: records are written before the head announces them.
  // Release: they are read before the tail frees their space.
  const std::uint64_t head = std::atomic_ref(control.data_head).load(std::memory_order_acquire);
  std::uint64_t tail = control.data_tail;
  const std::byte* data = ring.start + page_size();
  std::vector<std::byte> record;
  const auto copy = [&](std::size_t size) {
    record.resize(size);
    for (std::size_t i = 0; i < size; ++i)
      record[i] = data[(tail + i) % ring_size];
  };
  while (tail < head) {
    copy(sizeof(perf_event_header));
    const auto header = value_at<perf_event_header>(record, 0);
    if (header.size < sizeof(header)) break;
    copy(header.size);
    tail += header.size;
    // After the header, a sample has its process and thread, the size of the raw data, and the data. A lost
    // record has an id and a count.
    constexpr std::size_t thread_at = sizeof(perf_event_header) + sizeof(std::uint32_t);
    constexpr std::size_t raw_at = thread_at + 2 * sizeof(std::uint32_t);
    constexpr std::size_t lost_at = sizeof(perf_event_header) + sizeof(std::uint64_t);
    if (header.type == PERF_RECORD_LOST && record.size() >= lost_at + sizeof(std::uint64_t))
      wakers_.lost += static_cast<std::int64_t>(value_at<std::uint64_t>(record, lost_at));
    if (header.type != PERF_RECORD_SAMPLE || record.size() < raw_at) continue;
    if (const auto waking = parse_waking(std::span(record).subspan(raw_at), format_))
      count(value_at<pid_t>(record, thread_at), *waking, threads);
  }
  std::atomic_ref(control.data_tail).store(tail, std::memory_order_release);
}

void WakeUpTrace::count(pid_t waker, const Waking& waking, const std::unordered_set<pid_t>& threads) {
  if (!threads.contains(waking.woken)) return;
  if (waking.by_interrupt)
    ++wakers_.interrupts;
  else if (!threads.contains(waker))
    ++wakers_.others;
  else
    ++wakers_.by_threads[{name_of(waker), waking.name}];
}

const std::string& WakeUpTrace::name_of(pid_t thread) {
  const auto [entry, added] = names_.try_emplace(thread);
  if (added)
    if (const auto stat = read_task_stat(thread, thread)) entry->second = stat->name;
  return entry->second;
}

std::string explain_wakers(const Wakers& wakers) {
  const std::int64_t own =
      std::accumulate(wakers.by_threads.begin(), wakers.by_threads.end(), std::int64_t{0},
                      [](std::int64_t sum, const auto& pair) { return sum + pair.second; });
  const std::int64_t all = own + wakers.interrupts + wakers.others;
  if (all == 0) return "";
  const auto percent = [all](std::int64_t count) {
    return fmt::format("{:.0f} %", 100 * static_cast<double>(count) / static_cast<double>(all));
  };
  std::string text = fmt::format("of {} seen, {} by threads of the program", all, percent(own));
  const auto most =
      std::ranges::max_element(wakers.by_threads, {}, [](const auto& pair) { return pair.second; });
  if (most != wakers.by_threads.end())
    text +=
        fmt::format(" (most: {} wakes {}, {})", most->first.first, most->first.second, percent(most->second));
  text += fmt::format(", {} by interrupts, {} by others", percent(wakers.interrupts), percent(wakers.others));
  if (own * 2 >= all) text += "; who wakes another of the program goes on under class batch";
  if (wakers.lost > 0) text += fmt::format("; {} more were not seen", wakers.lost);
  return text;
}

}  // namespace millrace::placement
