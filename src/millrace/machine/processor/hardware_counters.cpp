#include "millrace/machine/processor/hardware_counters.h"

#include "millrace/base/descriptor/descriptor.h"
#include "millrace/base/error/system_reason.h"

#include <cerrno>
#include <cstdint>
#include <unistd.h>

#include <fmt/format.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>

namespace millrace::machine {
namespace {

Descriptor open_instruction_counter() {
  perf_event_attr attributes{};
  attributes.size = sizeof(attributes);
  attributes.type = PERF_TYPE_HARDWARE;
  attributes.config = PERF_COUNT_HW_INSTRUCTIONS;
  attributes.exclude_kernel = 1;  // perf_event_paranoid = 2 permits no more
  attributes.exclude_hv = 1;
  constexpr int this_thread = 0;
  constexpr int any_cpu = -1;
  return Descriptor::owned(static_cast<int>(
      syscall(SYS_perf_event_open, &attributes, this_thread, any_cpu, -1, PERF_FLAG_FD_CLOEXEC)));
}

std::string reason_of(int error_number) {
  switch (error_number) {
  case EACCES:
  case EPERM:
    return "not permitted: needs kernel.perf_event_paranoid <= 2 (in a container also perf_event_open "
           "allowed) or "
           "CAP_PERFMON";
  case ENOENT:
  case ENODEV:
  case EOPNOTSUPP:
    return "the processor, or the hypervisor below, offers no performance monitoring unit";
  case ENOSYS:
    return "the kernel was built without performance events, or a sandbox hides them";
  default:
    return fmt::format("perf_event_open: {}", system_reason(error_number));
  }
}

}  // namespace

CounterAvailability probe_hardware_counters() {
  const Descriptor counter = open_instruction_counter();
  if (counter.get() < 0) return {false, reason_of(errno)};
  std::uint64_t before = 0;
  std::uint64_t after = 0;
  for (std::uint64_t* count : {&before, &after})
    if (read(counter.get(), count, sizeof(*count)) != sizeof(*count))
      return {false, "the instruction counter opens but cannot be read"};
  // Some hypervisors accept the event but count nothing, not even the instructions between two reads.
  if (after <= before) return {false, "the instruction counter opens but does not count"};
  return {true, "instructions of a thread can be counted"};
}

}  // namespace millrace::machine
