#include "millrace/model/cluster/simulate_cluster.h"

#include "millrace/model/pipeline/random.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <optional>
#include <queue>

namespace millrace::model {
namespace {

// A chunk is copied only if its remaining time exceeds the copy's by this factor, as in
// python/millrace/cluster/driver.py.
constexpr double worth_copying = 1.25;
constexpr double never_taken = std::numeric_limits<double>::infinity();

// Mean 1. Marsaglia and Tsang (2000), with their boost for shapes below 1.
double gamma_of_mean_one(double deviation, Random& random) {
  if (deviation <= 0) return 1;
  const double shape = 1 / (deviation * deviation);
  const double boosted = shape < 1 ? shape + 1 : shape;
  const double d = boosted - 1.0 / 3;
  const double c = 1 / std::sqrt(9 * d);
  while (true) {
    const double x = random.normal();
    const double v = std::pow(1 + c * x, 3);
    if (v <= 0 || std::log(random.uniform()) >= x * x / 2 + d - d * v + d * std::log(v)) continue;
    const double boost = shape < 1 ? std::pow(random.uniform(), 1 / shape) : 1;
    return d * v * boost / shape;
  }
}

class ClusterRun {
 public:
  ClusterRun(const ClusterJob& job, const std::vector<ClusterMachines>& kinds, std::uint64_t seed)
      : job_(job), kinds_(kinds), random_(seed), experienced_(kinds.size(), never_taken) {
    for (int i = 0; i < job.chunks; ++i)
      work_.push_back(job.work * gamma_of_mean_one(job.variation, random_));
    copies_.resize(work_.size());
    done_.resize(work_.size());
    for (std::size_t kind = 0; kind < kinds.size(); ++kind)
      for (int i = 0; i < kinds[kind].count; ++i)
        machines_.push_back({.kind = kind});
  }

  ClusterOutcome run() {
    now_ = job_.before;
    for (std::size_t i = 0; i < machines_.size(); ++i)
      come_up(i);
    while (left_ > 0) {
      const Event event = events_.top();
      events_.pop();
      Machine& machine = machines_[event.machine];
      if (event.turn != machine.turn) continue;  // the event was cancelled
      now_ = event.at;
      if (machine.state == State::away)
        take_work(event.machine);
      else if (event.taken)
        take_away(event.machine);
      else
        finish(event.machine);
    }
    return account();
  }

 private:
  enum class State { away, waiting, busy };
  struct Machine {
    std::size_t kind = 0;
    State state = State::away;
    std::int64_t turn = 0;
    bool knows = false;  // has learnt
    double up_at = 0;
    double taken_at = never_taken;
    std::size_t chunk = 0;
    double begun = 0;
    double due = 0;
    double transfer = 0;
    double learning = 0;
  };
  struct Event {
    double at = 0;
    std::size_t machine = 0;
    std::int64_t turn = 0;
    bool taken = false;
    bool operator>(const Event& other) const {
      return at != other.at ? at > other.at : machine > other.machine;
    }
  };

  [[nodiscard]] const ClusterMachines& kind_of(const Machine& machine) const { return kinds_[machine.kind]; }

  void come_up(std::size_t which) {
    Machine& machine = machines_[which];
    const ClusterMachines& kind = kind_of(machine);
    machine.state = State::away;
    const bool again = machine.turn > 0;
    const double up = now_ + kind.start_up + (again ? kind.taken_for : 0);
    machine.up_at = up;
    away_ += up - now_;
    machine.knows = false;
    machine.taken_at = kind.taken_every > 0 ? up + random_.exponential(kind.taken_every) : never_taken;
    events_.push({.at = up, .machine = which, .turn = ++machine.turn});
  }

  void take_work(std::size_t which) {
    Machine& machine = machines_[which];
    machine.state = State::waiting;
    if (!again_.empty()) {
      const std::size_t chunk = again_.back();
      again_.pop_back();
      begin(which, chunk);
    } else if (next_ < work_.size()) {
      begin(which, next_++);
    } else if (const auto late = latest_worth_copying(machine)) {
      ++result_.copies;
      begin(which, *late);
    } else {
      idle_.push_back(which);
    }
  }

  [[nodiscard]] double seconds_of(const Machine& machine, std::size_t chunk) const {
    return work_[chunk] / kind_of(machine).speed + job_.overhead;
  }

  // For a chunk with an unknown amount of work.
  [[nodiscard]] double usual_seconds(const Machine& machine) const {
    return job_.work / kind_of(machine).speed + job_.overhead;
  }

  // The chunk expected to finish last, among those that this machine is expected to finish earlier.
  [[nodiscard]] std::optional<std::size_t> latest_worth_copying(const Machine& machine) const {
    if (!job_.speculation) return std::nullopt;
    std::optional<std::size_t> latest;
    double due = now_ + worth_copying * (usual_seconds(machine) + transfer_alone(machine));
    for (const Machine& other : machines_) {
      if (other.state != State::busy || copies_[other.chunk] != 1) continue;
      const double expected = other.begun + other.transfer + other.learning + usual_seconds(other);
      if (expected <= due) continue;
      latest = other.chunk;
      due = expected;
    }
    return latest;
  }

  [[nodiscard]] double transfer_alone(const Machine& machine) const {
    const double link = kind_of(machine).link;
    return (link > 0 ? job_.bytes / link : 0) + (job_.storage > 0 ? job_.bytes / job_.storage : 0);
  }

  void begin(std::size_t which, std::size_t chunk) {
    Machine& machine = machines_[which];
    const ClusterMachines& kind = kind_of(machine);
    double ready = now_;
    if (job_.storage > 0 && job_.bytes > 0) {
      store_free_ = std::max(store_free_, now_) + job_.bytes / job_.storage;
      ready = store_free_;
    }
    if (kind.link > 0) ready += job_.bytes / kind.link;
    machine.transfer = ready - now_;
    const bool taught = job_.shared_plans && experienced_[machine.kind] <= now_;
    machine.learning = machine.knows || taught ? 0 : job_.learning / kind.speed;
    machine.begun = now_;
    machine.due = ready + machine.learning + seconds_of(machine, chunk);
    machine.chunk = chunk;
    machine.state = State::busy;
    ++copies_[chunk];
    const bool taken = machine.taken_at < machine.due;
    events_.push({.at = taken ? std::max(machine.taken_at, now_) : machine.due,
                  .machine = which,
                  .turn = ++machine.turn,
                  .taken = taken});
  }

  void leave_chunk(const Machine& machine) {
    --copies_[machine.chunk];
    repeated_ += now_ - machine.begun;
  }

  void take_away(std::size_t which) {
    Machine& machine = machines_[which];
    ++result_.taken;
    leave_chunk(machine);
    if (!done_[machine.chunk] && copies_[machine.chunk] == 0) {
      again_.push_back(machine.chunk);
      wake();
    }
    come_up(which);
  }

  void finish(std::size_t which) {
    Machine& machine = machines_[which];
    machine.knows = true;
    experienced_[machine.kind] = std::min(experienced_[machine.kind], now_);
    transferred_ += machine.transfer;
    learnt_ += machine.learning;
    worked_ += seconds_of(machine, machine.chunk);
    const std::size_t chunk = machine.chunk;
    done_[chunk] = true;
    --copies_[chunk];
    --left_;
    machine.state = State::waiting;
    if (copies_[chunk] > 0) end_copies(chunk);
    if (left_ > 0) take_work(which);
  }

  void end_copies(std::size_t chunk) {
    for (std::size_t i = 0; i < machines_.size(); ++i) {
      Machine& machine = machines_[i];
      if (machine.state != State::busy || machine.chunk != chunk) continue;
      leave_chunk(machine);
      ++machine.turn;
      machine.state = State::waiting;
      take_work(i);
    }
  }

  // Idle machines look for work again.
  void wake() {
    std::vector<std::size_t> idle;
    idle.swap(idle_);
    for (const std::size_t which : idle)
      take_work(which);
  }

  [[nodiscard]] ClusterOutcome account() {
    ClusterOutcome& r = result_;
    r.machines = static_cast<int>(machines_.size());
    r.seconds = now_ + job_.after;
    for (const Machine& machine : machines_) {
      r.capacity += kind_of(machine).speed;
      if (machine.state == State::busy) leave_chunk(machine);
      if (machine.state == State::away) away_ -= std::max(0.0, machine.up_at - now_);
    }
    const double work = std::accumulate(work_.begin(), work_.end(), 0.0);
    r.efficiency = work / (r.capacity * r.seconds);
    // The remaining shares are of machine time, regardless of speed.
    const double time = r.seconds * static_cast<double>(machines_.size());
    const double useful = worked_ / time;
    r.starting = away_ / time;
    r.transferring = transferred_ / time;
    r.learning = learnt_ / time;
    r.repeated = repeated_ / time;
    r.idle = 1 - useful - r.starting - r.transferring - r.learning - r.repeated;
    return r;
  }

  const ClusterJob& job_;
  const std::vector<ClusterMachines>& kinds_;
  Random random_;
  std::vector<double> experienced_;  // when the first machine of the kind had learnt
  std::vector<double> work_;         // of each chunk, in the order of the video, in which chunks are begun
  std::vector<int> copies_;          // copies in progress, by chunk
  std::vector<bool> done_;
  std::vector<Machine> machines_;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  std::vector<std::size_t> again_;  // chunks interrupted by preemption
  std::vector<std::size_t> idle_;
  std::size_t next_ = 0;  // the first chunk never begun
  std::int64_t left_ = job_.chunks;
  double now_ = 0;
  double store_free_ = 0;
  double away_ = 0;
  double transferred_ = 0;
  double learnt_ = 0;
  double worked_ = 0;
  double repeated_ = 0;
  ClusterOutcome result_;
};

}  // namespace

ClusterOutcome simulate_cluster(const ClusterJob& job, const std::vector<ClusterMachines>& machines,
                                std::uint64_t seed) {
  return ClusterRun(job, machines, seed).run();
}

}  // namespace millrace::model
