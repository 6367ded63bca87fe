#include "millrace/machine/thread/scheduling_attributes.h"

#include "millrace/base/error/system_reason.h"
#include "millrace/machine/thread/thread_ended.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstdint>
#include <sched.h>
#include <system_error>
#include <thread>
#include <unistd.h>
#include <utility>

#include <linux/capability.h>
#include <linux/sched.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>

namespace millrace::machine {
namespace {

// The first version of the kernel's struct sched_attr, which glibc 2.36 does not declare.
struct KernelAttributes {
  std::uint32_t size = sizeof(KernelAttributes);
  std::uint32_t policy = 0;
  std::uint64_t flags = 0;
  std::int32_t nice = 0;
  std::uint32_t priority = 0;
  std::uint64_t runtime = 0;  // for other and batch: the slice
  std::uint64_t deadline = 0;
  std::uint64_t period = 0;
};

constexpr std::array<std::pair<std::uint32_t, SchedulingClass>, 6> classes = {{
    {0, SchedulingClass::other},
    {1, SchedulingClass::fifo},
    {2, SchedulingClass::rr},
    {3, SchedulingClass::batch},
    {5, SchedulingClass::idle},
    {6, SchedulingClass::deadline},
}};

SchedulingClass class_of(std::uint32_t policy) {
  for (const auto& [number, scheduling_class] : classes)
    if (number == policy) return scheduling_class;
  return SchedulingClass::unknown;
}

bool is_realtime(SchedulingClass scheduling_class) {
  return scheduling_class == SchedulingClass::fifo || scheduling_class == SchedulingClass::rr;
}

Result<KernelAttributes> read_attributes(pid_t thread) {
  KernelAttributes attributes;
  if (syscall(SYS_sched_getattr, thread, &attributes, sizeof(attributes), 0) != 0) {
    if (errno == ESRCH) return thread_ended(thread);
    return failure("cannot read how thread {} is scheduled: {}", thread, system_reason(errno));
  }
  // Real-time threads keep a nice value for later, which sched_getattr() reports as 0. Setting another class
  // sets the nice value too.
  if (is_realtime(class_of(attributes.policy))) {
    errno = 0;
    const int nice = getpriority(PRIO_PROCESS, static_cast<id_t>(thread));
    if (errno == 0) attributes.nice = nice;
  }
  return attributes;
}

// The kernel's default slice in units, for a number of online CPUs.
int units_of_default_slice(long cpus) {
  constexpr long most = 8;
  return static_cast<int>(std::bit_width(static_cast<unsigned>(std::clamp(cpus, 1L, most))));
}

struct DefaultSlice {
  std::int64_t slice = 0;  // when it was first read
  std::int64_t unit = 0;   // 0: not known
  int most_units = 0;
  // True if the kernel may have given a thread this slice by itself. Its default changes as CPUs go offline
  // and come online, and a thread keeps the older one until it runs.
  [[nodiscard]] bool is(std::int64_t given) const {
    return given == slice || (unit > 0 && given % unit == 0 && given / unit <= most_units);
  }
};

DefaultSlice with_units(std::int64_t slice) {
  DefaultSlice found{.slice = slice};
  const int units = units_of_default_slice(sysconf(_SC_NPROCESSORS_ONLN));
  if (slice % units == 0) found.unit = slice / units;
  found.most_units = units_of_default_slice(sysconf(_SC_NPROCESSORS_CONF));
  return found;
}

// Sets slice 0, which gives this thread the kernel's default. Nothing if its class has no slice.
std::optional<DefaultSlice> default_slice_of_this_thread() {
  const auto own = read_attributes(0);
  if (!own || !is_fair(class_of(own->policy))) return std::nullopt;
  if (own->runtime == 0) return DefaultSlice();  // the kernel has no slice for each thread
  KernelAttributes changed = *own;
  changed.flags &= SCHED_FLAG_RESET_ON_FORK;
  changed.runtime = 0;
  if (syscall(SYS_sched_setattr, 0, &changed, 0) != 0) return std::nullopt;
  const auto now = read_attributes(0);
  const auto found = now ? std::optional(with_units(static_cast<std::int64_t>(now->runtime))) : std::nullopt;
  // A slice of the thread's own goes back.
  changed.runtime = own->runtime;
  if (!found || !found->is(static_cast<std::int64_t>(own->runtime)))
    syscall(SYS_sched_setattr, 0, &changed, 0);
  return found;
}

// A new thread may leave its parent's class. Its parent may have a custom slice.
DefaultSlice default_slice_of_new_thread() {
  DefaultSlice found;
  const auto find = [&found] {
    auto own = read_attributes(0);
    if (!own) return;
    if (is_realtime(class_of(own->policy))) own->policy = 0;
    own->priority = 0;
    own->runtime = 0;
    own->flags = 0;
    if (syscall(SYS_sched_setattr, 0, &*own, 0) != 0) return;
    if (const auto now = read_attributes(0)) found = with_units(static_cast<std::int64_t>(now->runtime));
  };
  try {
    std::thread(find).join();
  } catch (const std::system_error&) {
    // No thread can be created here (RLIMIT_NPROC). Use this thread's slice, which is rarely custom.
    if (const auto own = read_attributes(0)) found.slice = static_cast<std::int64_t>(own->runtime);
  }
  return found;
}

const DefaultSlice& default_slice() {
  static const DefaultSlice read = [] {
    // Making a thread takes a tenth of a millisecond, which short programs would wait for.
    const auto found = default_slice_of_this_thread();
    return found ? *found : default_slice_of_new_thread();
  }();
  return read;
}

// Every slice that is a default is reported as default_slice_ns().
std::int64_t slice_of(const KernelAttributes& attributes) {
  const auto slice = static_cast<std::int64_t>(attributes.runtime);
  return slice != 0 && default_slice().is(slice) ? default_slice().slice : slice;
}

SchedulingAttributes from_kernel(const KernelAttributes& attributes) {
  const SchedulingClass scheduling_class = class_of(attributes.policy);
  return {.scheduling_class = scheduling_class,
          .nice = attributes.nice,
          .priority = static_cast<int>(attributes.priority),
          .slice_ns = is_fair(scheduling_class) ? slice_of(attributes) : 0,
          .reset_on_fork = (attributes.flags & SCHED_FLAG_RESET_ON_FORK) != 0};
}

std::unexpected<Error> refused(pid_t thread, SchedulingClass wanted, int error_number) {
  if (error_number == ESRCH) return thread_ended(thread);
  if (error_number == EPERM && is_realtime(wanted))
    return usage_error("class {} is not permitted: it needs RLIMIT_RTPRIO above 0 (ulimit -r), CAP_SYS_NICE, "
                       "and real-time bandwidth in the cgroup",
                       name_of(wanted));
  if (error_number == EPERM)
    return usage_error("not permitted to change how thread {} is scheduled: it belongs to another user, or "
                       "leaving its class needs CAP_SYS_NICE",
                       thread);
  return failure("cannot set class {} for thread {}: {}", name_of(wanted), thread,
                 system_reason(error_number));
}

// The kernel asks for this capability in the first user namespace. Elsewhere even root lacks it.
bool may_set_any_class() {
  constexpr ino_t first_user_namespace = 0xEFFFFFFD;
  struct stat own{};
  if (stat("/proc/self/ns/user", &own) != 0 || own.st_ino != first_user_namespace) return false;
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> sets{};
  return syscall(SYS_capget, &header, sets.data()) == 0 && (sets[0].effective >> CAP_SYS_NICE & 1U) != 0;
}

}  // namespace

bool is_fair(SchedulingClass scheduling_class) {
  return scheduling_class == SchedulingClass::other || scheduling_class == SchedulingClass::batch;
}

std::string_view name_of(SchedulingClass scheduling_class) {
  switch (scheduling_class) {
  case SchedulingClass::other:
    return "other";
  case SchedulingClass::batch:
    return "batch";
  case SchedulingClass::idle:
    return "idle";
  case SchedulingClass::fifo:
    return "fifo";
  case SchedulingClass::rr:
    return "rr";
  case SchedulingClass::deadline:
    return "deadline";
  case SchedulingClass::unknown:
    break;
  }
  return "unknown";
}

std::optional<SchedulingClass> parse_scheduling_class(std::string_view name) {
  for (const auto& [number, scheduling_class] : classes)
    if (name == name_of(scheduling_class) && scheduling_class != SchedulingClass::deadline)
      return scheduling_class;
  return std::nullopt;
}

Result<SchedulingAttributes> scheduling_attributes(pid_t thread) {
  const auto attributes = read_attributes(thread);
  if (!attributes) return std::unexpected(attributes.error());
  return from_kernel(*attributes);
}

Result<SchedulingAttributes> change_scheduling(pid_t thread, const SchedulingChange& change) {
  auto attributes = read_attributes(thread);
  if (!attributes) return std::unexpected(attributes.error());
  const SchedulingClass before = class_of(attributes->policy);
  const SchedulingClass wanted = change.scheduling_class.value_or(before);
  if (wanted == SchedulingClass::deadline || wanted == SchedulingClass::unknown)
    return usage_error("thread {} runs under class {}, which is not changed here", thread, name_of(wanted));

  for (const auto& [number, scheduling_class] : classes)
    if (scheduling_class == wanted) attributes->policy = number;
  attributes->flags &= SCHED_FLAG_RESET_ON_FORK;
  attributes->priority =
      is_realtime(wanted) ? static_cast<std::uint32_t>(change.priority.value_or(1)) : std::uint32_t{0};
  const std::int64_t usual_slice = default_slice_ns();
  if (change.slice_ns) {
    if (*change.slice_ns != 0 && !is_fair(wanted))
      return usage_error("a slice belongs to the classes other and batch, not to {}", name_of(wanted));
    if (*change.slice_ns != 0 && usual_slice == 0)
      return usage_error("this kernel has no slice for each thread; Linux 6.12 is the first that has");
    attributes->runtime = static_cast<std::uint64_t>(*change.slice_ns);
  } else if (!is_fair(wanted) || slice_of(*attributes) == usual_slice) {
    // Writing the default slice back would make it a custom slice.
    attributes->runtime = 0;
  }
  if (syscall(SYS_sched_setattr, thread, &*attributes, 0) != 0) return refused(thread, wanted, errno);
  return scheduling_attributes(thread);
}

Status may_give_back_class(pid_t thread, const SchedulingAttributes& own) {
  const SchedulingClass its = own.scheduling_class;
  if (its == SchedulingClass::deadline || its == SchedulingClass::unknown)
    return failure("thread {} keeps class {}, which millrace could not give back", thread, name_of(its));
  if (!is_realtime(its)) return {};
  // The limit of the thread's process counts, not that of this one.
  rlimit limit{};
  if (prlimit(thread, RLIMIT_RTPRIO, nullptr, &limit) == 0 &&
      limit.rlim_cur >= static_cast<rlim_t>(own.priority))
    return {};
  if (may_set_any_class()) return {};
  return failure(
      "thread {} keeps class {}: giving it back would need CAP_SYS_NICE, or RLIMIT_RTPRIO of {} in "
      "the program (prlimit --rtprio)",
      thread, name_of(its), own.priority);
}

Status hand_down_scheduling(pid_t thread) {
  auto own = read_attributes(0);
  if (!own) return std::unexpected(own.error());
  if (slice_of(*own) == default_slice_ns()) own->runtime = 0;
  // Real-time classes keep a nice value for later, which sched_setattr() does not set.
  errno = 0;
  const int nice = getpriority(PRIO_PROCESS, 0);
  if (syscall(SYS_sched_setattr, thread, &*own, 0) == 0 &&
      (errno != 0 || setpriority(PRIO_PROCESS, static_cast<id_t>(thread), nice) == 0))
    return {};
  return failure("class {} and nice value {} cannot be handed down to thread {}: {} (CAP_SYS_NICE?)",
                 name_of(class_of(own->policy)), own->nice, thread, system_reason(errno));
}

std::int64_t default_slice_ns() { return default_slice().slice; }

}  // namespace millrace::machine
