// IntensityWatch: observes which execution units and memory levels programs' threads use while they run.
//
//   IntensityWatch watch(caches_of(topology), cpus);
//   ... four times a second: watch.look(living);
//   for (const ThreadIntensity& thread : watch.threads()) ...
#pragma once

#include "millrace/intensity/decode/code_bytes.h"
#include "millrace/intensity/decode/code_place.h"
#include "millrace/intensity/estimate/thread_samples.h"
#include "millrace/intensity/sample/living_thread.h"
#include "millrace/intensity/sample/thread_sampler.h"
#include "millrace/machine/topology/topology.h"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <sys/types.h>

namespace millrace::intensity {

// The caches that serve the first of `cpus`, or of the machine's CPUs if that is empty. The last-level cache
// counts in full.
[[nodiscard]] CacheSizes caches_of(const machine::Topology& topology, const machine::CpuSet& cpus);

// The source of the observations.
enum class Source {
  none,     // nothing could be observed
  samples,  // instructions and addresses, sampled by the task clock and decoded
};
// "none", "samples".
[[nodiscard]] std::string_view name_of(Source source);

struct ThreadIntensity {
  pid_t thread = 0;
  pid_t process = 0;
  std::string name;
  bool ended = false;
  std::int64_t samples = 0;
  std::optional<machine::Demand>
      demand;                  // empty if there were too few samples: the thread slept or was too short
  double footprint_bytes = 0;  // 0 if no data address is known
  double busy = 0;             // share of about the last second in which it computed, 0 to 1
};

struct DataOverlap {
  pid_t first = 0;
  pid_t second = 0;
  double share = 0;  // 0 to 1, see overlap()
};

// Not thread-safe. Does not change the threads.
class IntensityWatch {
 public:
  // How many threads are watched at one time, fewer if the limit of open files (RLIMIT_NOFILE) is low.
  // Further threads are not watched.
  static constexpr std::size_t most_threads = 256;
  // How many ended threads are remembered.
  static constexpr std::size_t most_ended = 4096;
  // How often to call look().
  static constexpr std::int64_t interval_ns = 250'000'000;

  // Reads a page of code; false if it cannot be read. If it blocks, look() blocks.
  using CodeOf = std::function<bool(const LivingThread& of, std::uint64_t address, CodeBytes::Page& page)>;

  // cpus: on how many CPUs the threads may run at one time. remember: how many ended threads to remember, at
  // most `most_ended`. code: null means read_code_page(), which is only for programs that the caller may wait
  // for.
  IntensityWatch(const CacheSizes& caches, int cpus, std::size_t remember = most_ended,
                 CodeOf code = nullptr);

  // Reads new samples, starts watching new threads, and stops for threads that are not in `living`. now_ns:
  // from now_ns(). switches: context switches per second of CPU time, as far as known.
  void look(std::span<const LivingThread> living, std::int64_t now_ns, double switches = 0);

  // Living and ended threads, in the order in which they were first seen.
  [[nodiscard]] std::vector<ThreadIntensity> threads() const;
  // Pairs of threads of one process that share at least a tenth of their data, among the 16 threads with most
  // samples. Takes some milliseconds.
  [[nodiscard]] std::vector<DataOverlap> overlaps() const;

  [[nodiscard]] Source source() const { return source_; }
  // Why threads are not observed; "" if all are.
  [[nodiscard]] const std::string& missing() const { return missing_; }

 private:
  struct Watched {
    LivingThread id;
    int order = 0;
    std::string name;
    ThreadSampler sampler;
    ThreadSamples samples;
    double busy = 0;
    // The latest estimate. It is not recomputed for every sample.
    mutable ThreadSamples::Estimate estimate;
    mutable std::int64_t estimated = 0;  // number of samples at that time
  };
  struct Ended {
    ThreadIntensity told;
    std::vector<std::uint64_t> addresses;  // of its data
  };
  struct Code {
    Code(CodeOf code, const LivingThread& thread);
    LivingThread reads_by;  // a living thread of the process
    CodeBytes bytes;
    std::unordered_map<std::uint64_t, std::optional<CodePlace>> places;
  };

  void begin(const LivingThread& thread);
  void read(Watched& watched);
  void read_all(std::int64_t now_ns);
  void pace(std::int64_t now_ns, double switches);
  void forget_code(std::int64_t now_ns);
  [[nodiscard]] const std::optional<CodePlace>& place_at(std::uint64_t address, const LivingThread& thread);
  [[nodiscard]] ThreadIntensity told(const Watched& watched, bool ended) const;

  CacheSizes caches_;
  CodeOf code_of_;
  int rate_;
  std::size_t most_;
  std::size_t remember_;
  Source source_ = Source::none;
  std::string missing_;
  std::map<pid_t, Watched> watched_;
  std::set<pid_t> refused_;     // living threads that may not be sampled
  std::map<int, Ended> ended_;  // by order
  std::map<pid_t, std::unique_ptr<Code>> code_;
  std::int64_t code_read_ns_ = 0;
  std::int64_t turn_begun_ns_ = 0;
  std::int64_t read_ns_ = 0;
  bool paused_ = false;
  int next_ = 0;
};

}  // namespace millrace::intensity
