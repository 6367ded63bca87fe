#include "millrace/opencv/loop_runner.h"

#include "millrace/pool/for_range.h"
#include "millrace/pool/worker_pool.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <stdexcept>
#include <unistd.h>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace millrace::opencv {
namespace {

// OpenCV functions follow each other with some Python in between. Waking a thread takes 50 us, while loops
// take a millisecond.
constexpr std::int64_t linger_ns = 200'000;

thread_local int current_rank = 0;
thread_local bool in_loop = false;

class InLoop {
 public:
  explicit InLoop(int rank) : before_(std::exchange(current_rank, rank)) { in_loop = true; }
  ~InLoop() {
    current_rank = before_;
    in_loop = false;
  }
  InLoop(const InLoop&) = delete;
  InLoop& operator=(const InLoop&) = delete;

 private:
  int before_;
};

}  // namespace

// A quota of one and a half CPUs gives two threads. The throttling that this causes shows in the measured
// times, by which the number is chosen.
LoopRunner::LoopRunner(int most) : most_(most >= 1 ? most : pool::most_usable_workers()) {}

LoopRunner::~LoopRunner() {
  Own* own = own_.load(std::memory_order_acquire);
  // After a fork, the parent's threads do not exist here and cannot be joined.
  if (own != nullptr && own->process == getpid()) delete own;  // NOLINT(cppcoreguidelines-owning-memory)
}

int LoopRunner::rank() { return current_rank; }

LoopRunner::Own& LoopRunner::of_this_process() {
  Own* own = own_.load(std::memory_order_acquire);
  if (own != nullptr && own->process == getpid()) return *own;
  auto fresh = std::make_unique<Own>(getpid());
  // acq_rel: a thread that reads the new pointer sees the object fully constructed. After a fork the old
  // object is left as it is, because its threads do not exist here.
  if (!own_.compare_exchange_strong(own, fresh.get(), std::memory_order_acq_rel)) return *own;
  return *fresh.release();
}

void LoopRunner::set_most(int threads) {
  most_.store(threads >= 1 ? threads : pool::most_usable_workers(), std::memory_order_relaxed);
  Own& own = of_this_process();
  const std::scoped_lock lock(own.mutex);
  own.sites.clear();  // their choices are for other numbers of threads
}

pool::SharedWorkers* LoopRunner::Own::workers_for(int threads) {
  if (workers.empty() || workers.back()->size() < threads) {
    auto made = pool::SharedWorkers::create(threads, linger_ns);
    if (!made) return nullptr;
    workers.push_back(std::move(*made));
  }
  return workers.back().get();
}

void LoopRunner::run(std::uint64_t site, int count, pool::FunctionRef<void(int begin, int end)> body) {
  if (count <= 0) return;
  const int most = this->most();
  if (in_loop || most == 1 || count == 1) {
    body(0, count);
    return;
  }
  Own& own = of_this_process();
  int threads = 1;
  pool::SharedWorkers* workers = nullptr;
  {
    const std::scoped_lock lock(own.mutex);
    workers = own.workers_for(most);
    if (workers != nullptr) {
      if (own.sites.size() >= most_sites && !own.sites.contains(site)) own.sites.clear();
      threads = own.sites.try_emplace(site, Site{ThreadChoice(most)}).first->second.choice.next();
    }
  }

  const auto begin = std::chrono::steady_clock::now();
  std::exception_ptr thrown;
  if (threads == 1) {
    const InLoop inside(0);
    body(0, count);
  } else {
    std::mutex failed;
    const auto part = [&](std::int64_t from, std::int64_t to, int rank) {
      const InLoop inside(rank);
      try {
        body(static_cast<int>(from), static_cast<int>(to));
      } catch (...) {
        const std::scoped_lock lock(failed);
        if (!thrown) thrown = std::current_exception();
      }
    };
    // Shrinking parts, small from the start. A thread that loses its CPU in the middle of a part delays the
    // loop; with smaller parts that is rarer.
    const std::int64_t grain = std::max(1, count / (16 * threads));
    const Status done = workers->run(
        threads,
        [&](pool::Team& team) {
          return pool::for_range(team, 0, count, pool::Partition::guided, grain, part, 4);
        },
        pool::WakeUp::elsewhere);
    if (!done && !thrown) throw std::runtime_error(done.error().message);
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  {
    const std::scoped_lock lock(own.mutex);
    // Another thread's loop at the same site may have come in between. Then this time belongs to another
    // trial.
    const auto found = own.sites.find(site);
    if (found != own.sites.end()) {
      Site& here = found->second;
      if (here.choice.next() == threads) here.choice.took(seconds);
      ++here.loops;
      here.seconds += seconds;
      here.count = count;
    }
  }
  if (thrown) std::rethrow_exception(thrown);
}

std::string LoopRunner::report() {
  Own& own = of_this_process();
  const std::scoped_lock lock(own.mutex);
  std::vector<std::pair<std::uint64_t, const Site*>> sites;
  for (const auto& [key, site] : own.sites)
    sites.emplace_back(key, &site);
  std::ranges::sort(sites,
                    [](const auto& a, const auto& b) { return a.second->seconds > b.second->seconds; });
  std::string text;
  for (const auto& [key, site] : sites)
    text += fmt::format("site {:016x}: {} loops of {} parts, {:.3f} ms each, {} of {} threads\n", key,
                        site->loops, site->count,
                        1e3 * site->seconds / static_cast<double>(std::max<std::uint64_t>(site->loops, 1)),
                        site->choice.best(), most());
  return text;
}

}  // namespace millrace::opencv
