// WakeUpTrace: who wakes whom, where the kernel lets this user see it.
#pragma once

#include "millrace/base/descriptor.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include <sys/types.h>

namespace millrace::placement {

// Wake-ups of some threads during some time, by who has woken them.
struct Wakers {
  std::map<std::pair<std::string, std::string>, std::int64_t> by_threads;  // names of waker and woken
  std::int64_t interrupts = 0;  // a timer that runs out, data that has come
  std::int64_t others = 0;      // threads that are not among them
  std::int64_t lost = 0;        // not counted, as there were too many at once
};

// A record of the tracepoint sched_waking: where in it its fields are.
struct WakingFormat {
  std::size_t flags = 0;  // one byte
  std::size_t woken = 0;  // the number of the woken thread, four bytes
  std::size_t name = 0;   // and its name, of 16 bytes
  // From the kernel's description, a file called `format`; nothing where a field is missing.
  [[nodiscard]] static std::optional<WakingFormat> parse(std::string_view text);
};

struct Waking {
  pid_t woken = 0;
  std::string name;
  bool by_interrupt = false;
};
// Nothing where the record is too short.
[[nodiscard]] std::optional<Waking> parse_waking(std::span<const std::byte> record,
                                                 const WakingFormat& format);

// While it lives, each wake-up on any CPU is noted by the kernel, a microsecond each: for a second, no
// longer.
class WakeUpTrace {
 public:
  // Nothing where there is no tracefs (at /sys/kernel/tracing), or this user may not: without CAP_PERFMON,
  // seldom.
  [[nodiscard]] static std::optional<WakeUpTrace> begin();
  WakeUpTrace(WakeUpTrace&&) noexcept = default;
  WakeUpTrace& operator=(WakeUpTrace&&) = delete;
  ~WakeUpTrace();

  // Counts those so far, of `threads`. To be called some times in a second.
  void read(const std::vector<pid_t>& threads);
  [[nodiscard]] const Wakers& wakers() const { return wakers_; }

 private:
  // What the kernel has noted on one CPU, in memory shared with it.
  struct Ring {
    Descriptor event;
    std::byte* start = nullptr;
  };
  explicit WakeUpTrace(const WakingFormat& format) : format_(format) {}
  void read(const Ring& ring, const std::unordered_set<pid_t>& threads);
  void count(pid_t waker, const Waking& waking, const std::unordered_set<pid_t>& threads);
  const std::string& name_of(pid_t thread);

  WakingFormat format_;
  std::vector<Ring> rings_;
  std::unordered_map<pid_t, std::string> names_;
  Wakers wakers_;
};

// One line for a person; "" where nothing was counted.
[[nodiscard]] std::string explain_wakers(const Wakers& wakers);

}  // namespace millrace::placement
