// WakeUpTrace: which threads wake which others, if the kernel lets this user see it.
#pragma once

#include "millrace/base/descriptor/descriptor.h"

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

// Wake-ups of some threads over an interval, by waker.
struct Wakers {
  std::map<std::pair<std::string, std::string>, std::int64_t> by_threads;  // names of waker and woken thread
  std::int64_t interrupts = 0;  // such as an expired timer or arrived data
  std::int64_t others = 0;      // woken by threads outside the set
  std::int64_t lost = 0;        // not counted, because there were too many at once
};

// Offsets of the fields in a record of the tracepoint sched_waking.
struct WakingFormat {
  std::size_t flags = 0;  // one byte
  std::size_t woken = 0;  // number of the woken thread, four bytes
  std::size_t name = 0;   // its name, 16 bytes
  // Parses the kernel's description, a file called `format`. Returns nothing if a field is missing.
  [[nodiscard]] static std::optional<WakingFormat> parse(std::string_view text);
};

struct Waking {
  pid_t woken = 0;
  std::string name;
  bool by_interrupt = false;
};
// Returns nothing if the record is too short.
[[nodiscard]] std::optional<Waking> parse_waking(std::span<const std::byte> record,
                                                 const WakingFormat& format);

// While it exists, the kernel records every wake-up on every CPU, at about a microsecond each. Use it for a
// second at most.
class WakeUpTrace {
 public:
  // Returns nothing without tracefs (/sys/kernel/tracing) or permission, which usually needs CAP_PERFMON.
  [[nodiscard]] static std::optional<WakeUpTrace> begin();
  WakeUpTrace(WakeUpTrace&&) noexcept = default;
  WakeUpTrace& operator=(WakeUpTrace&&) = delete;
  ~WakeUpTrace();

  // Counts the wake-ups of `threads` so far. Call this several times a second.
  void read(const std::vector<pid_t>& threads);
  [[nodiscard]] const Wakers& wakers() const { return wakers_; }

 private:
  // The kernel's records of one CPU, in memory shared with it.
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

// One line for a person; "" if nothing was counted.
[[nodiscard]] std::string explain_wakers(const Wakers& wakers);

}  // namespace millrace::placement
