#include "millrace/intensity/watch/intensity_watch.h"

#include "millrace/base/error/clock.h"
#include "millrace/base/file/kept_files.h"
#include "millrace/base/file/system_file.h"
#include "millrace/intensity/estimate/overlap.h"
#include "millrace/intensity/sample/program_code.h"
#include "millrace/intensity/watch/watch_pace.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <utility>

#include <fmt/format.h>

namespace millrace::intensity {
namespace {

// How long code is assumed to stay the same; programs that generate code change it now and then.
constexpr std::int64_t code_stays_ns = 2'000'000'000;
constexpr std::size_t most_places = 16384;
// If threads are sampled only part of the time, they are sampled without a break once in each such period.
constexpr std::int64_t turn_ns = 10 * IntensityWatch::interval_ns;

std::string read_name(pid_t thread) {
  std::string name = read_system_file(fmt::format("/proc/{}/comm", thread)).value_or("");
  if (!name.empty() && name.back() == '\n') name.pop_back();
  return name;
}

}  // namespace

CacheSizes caches_of(const machine::Topology& topology, const machine::CpuSet& cpus) {
  CacheSizes sizes;
  const int cpu = cpus.empty() ? topology.cpus().lowest() : cpus.lowest();
  constexpr int l1 = 1;
  constexpr int l2 = 2;
  if (const machine::Cache* cache = topology.data_cache_of(cpu, l1))
    sizes.l1 = static_cast<double>(cache->size_bytes);
  if (const machine::Cache* cache = topology.data_cache_of(cpu, l2))
    sizes.l2 = static_cast<double>(cache->size_bytes);
  // Without a third level, the second is the last.
  const machine::Cache* last = topology.last_level_cache_of(cpu);
  sizes.llc = last == nullptr ? sizes.l2 : static_cast<double>(last->size_bytes);
  return sizes;
}

std::string_view name_of(Source source) { return source == Source::samples ? "samples" : "none"; }

IntensityWatch::Code::Code(CodeOf code, const LivingThread& thread)
    : reads_by(thread), bytes([this, code = std::move(code)](std::uint64_t address, CodeBytes::Page& page) {
        return code ? code(reads_by, address, page) : read_code_page(reads_by.thread, address, page);
      }) {}

IntensityWatch::IntensityWatch(const CacheSizes& caches, int cpus, std::size_t remember, CodeOf code)
    : caches_(caches), code_of_(std::move(code)), rate_(samples_for_each_second(cpus)),
      most_(most_kept_files(most_threads)), remember_(std::min(remember, most_ended)) {}

void IntensityWatch::begin(const LivingThread& thread) {
  if (watched_.size() >= most_) {
    missing_ = fmt::format("of more than {} threads at once only so many are observed", most_);
    return;
  }
  auto sampler = ThreadSampler::begin(thread.thread, rate_);
  if (!sampler || !*sampler) {
    refused_.insert(thread.thread);
    // A thread that has just ended is not missing.
    if (!sampler) missing_ = sampler.error().message;
    return;
  }
  source_ = Source::samples;
  if (paused_) (*sampler)->pause();
  watched_.emplace(thread.thread, Watched{.id = thread,
                                          .order = next_++,
                                          .name = read_name(thread.thread),
                                          .sampler = std::move(**sampler),
                                          .samples = {}});
}

const std::optional<CodePlace>& IntensityWatch::place_at(std::uint64_t address, const LivingThread& thread) {
  auto& code = code_[thread.process];
  if (code == nullptr) code = std::make_unique<Code>(code_of_, thread);
  code->reads_by = thread;
  if (code->places.size() >= most_places) code->places.clear();
  const auto [entry, added] = code->places.try_emplace(address);
  if (added) entry->second = code_place(address, code->bytes);
  return entry->second;
}

void IntensityWatch::read(Watched& watched) {
  watched.sampler.read({.sampled =
                            [&](const Sample& sample) {
                              const auto& place = place_at(sample.instruction, watched.id);
                              std::optional<std::uint64_t> address;
                              if (place && place->data) address = place->data->address(sample.registers);
                              watched.samples.add(place, address);
                            },
                        .named =
                            [&](const std::string& name, bool executed) {
                              watched.name = name;
                              if (!executed) return;
                              watched.samples.clear();
                              watched.estimated = 0;
                              code_.erase(watched.id.process);
                            }});
}

void IntensityWatch::read_all(std::int64_t now) {
  const double passed = seconds(now - std::exchange(read_ns_, now));
  for (auto& [number, watched] : watched_) {
    const std::int64_t before = watched.samples.seen();
    read(watched);
    if (paused_ || passed <= 0) continue;
    const double busy = static_cast<double>(watched.samples.seen() - before) / (rate_ * passed);
    // Averages over about a second.
    const double share = std::min(passed, 1.0);
    watched.busy += share * (std::min(busy, 1.0) - watched.busy);
  }
}

// Samples at the beginning of each period, for the given share of it.
void IntensityWatch::pace(std::int64_t now, double switches) {
  if (now - turn_begun_ns_ >= turn_ns) turn_begun_ns_ = now;
  const auto sampled_ns = static_cast<std::int64_t>(share_of_time(switches) * static_cast<double>(turn_ns));
  const bool pause = now - turn_begun_ns_ >= sampled_ns;
  if (pause == std::exchange(paused_, pause)) return;
  for (auto& [number, watched] : watched_)
    pause ? watched.sampler.pause() : watched.sampler.resume();
}

void IntensityWatch::forget_code(std::int64_t now) {
  if (now - code_read_ns_ < code_stays_ns) return;
  code_read_ns_ = now;
  code_.clear();
}

void IntensityWatch::look(std::span<const LivingThread> living, std::int64_t now, double switches) {
  std::set<pid_t> alive;
  for (const LivingThread& thread : living)
    alive.insert(thread.thread);
  read_all(now);
  forget_code(now);  // after reading, because the code of ended programs cannot be read again
  for (auto entry = watched_.begin(); entry != watched_.end();) {
    if (alive.contains(entry->first)) {
      ++entry;
      continue;
    }
    const Watched& watched = entry->second;
    if (ended_.size() < remember_)
      ended_.emplace(watched.order,
                     Ended{told(watched, true), ended_.size() < most_threads ? watched.samples.addresses()
                                                                             : std::vector<std::uint64_t>()});
    entry = watched_.erase(entry);
  }
  std::erase_if(refused_, [&](pid_t thread) { return !alive.contains(thread); });
  // A caller that remembers ended threads still wants to know which of them were not observed.
  if (remember_ == 0 && refused_.empty() && watched_.size() < most_) missing_.clear();
  pace(now, switches);
  for (const LivingThread& thread : living)
    if (!watched_.contains(thread.thread) && !refused_.contains(thread.thread)) begin(thread);
}

ThreadIntensity IntensityWatch::told(const Watched& watched, bool ended) const {
  constexpr std::int64_t few = 16;
  if (const std::int64_t seen = watched.samples.seen(); ended || seen >= watched.estimated + few) {
    watched.estimate = watched.samples.estimate(caches_);
    watched.estimated = seen;
  }
  return {.thread = watched.id.thread,
          .process = watched.id.process,
          .name = watched.name,
          .ended = ended,
          .samples = watched.samples.seen(),
          .demand = watched.estimate.demand,
          .footprint_bytes = watched.estimate.footprint_bytes,
          .busy = watched.busy};
}

std::vector<ThreadIntensity> IntensityWatch::threads() const {
  std::map<int, ThreadIntensity> all;
  for (const auto& [order, ended] : ended_)
    all.emplace(order, ended.told);
  for (const auto& [number, watched] : watched_)
    all.emplace(watched.order, told(watched, false));
  std::vector<ThreadIntensity> threads;
  threads.reserve(all.size());
  for (auto& [order, thread] : all)
    threads.push_back(std::move(thread));
  return threads;
}

std::vector<DataOverlap> IntensityWatch::overlaps() const {
  struct Data {
    LivingThread id;
    std::vector<std::uint64_t> addresses;
  };
  std::vector<Data> all;
  for (const auto& [order, ended] : ended_)
    all.push_back({{ended.told.thread, ended.told.process}, ended.addresses});
  for (const auto& [number, watched] : watched_)
    all.push_back({watched.id, watched.samples.addresses()});
  std::erase_if(all, [](const Data& data) { return data.addresses.size() < ThreadSamples::fewest; });
  std::ranges::stable_sort(all, std::greater<>(), [](const Data& data) { return data.addresses.size(); });
  constexpr std::size_t most = 16;
  if (all.size() > most) all.resize(most);
  std::vector<DataOverlap> found;
  constexpr double least = 0.1;
  for (auto a = all.begin(); a != all.end(); ++a)
    for (auto b = std::next(a); b != all.end(); ++b) {
      const double share = a->id.process == b->id.process ? overlap(a->addresses, b->addresses) : 0;
      if (share >= least) found.push_back({a->id.thread, b->id.thread, share});
    }
  return found;
}

}  // namespace millrace::intensity
