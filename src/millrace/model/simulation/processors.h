// Simulated cores: who computes on which, how fast, and who is done next.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace millrace::model {

// Groups of cores. The jobs of a group share its cores evenly (processor sharing): k jobs on m cores run at
// min(1, m / k) each. One group more, without bound, holds those that wait for a device. Owns the simulated
// clock. Used by one thread.
class Processors {
 public:
  // groups >= 1 with cores_per_group >= 1 each. Jobs are numbered by the caller, each at most once at a time.
  Processors(int groups, int cores_per_group);

  // The job computes for so many seconds, as on a core of its own.
  void compute(int job, int group, double seconds);
  // The job waits for so many seconds, on no core.
  void wait(int job, double seconds);
  // Goes on to the next job that is done; of those done at once, in the lowest group, then the one started
  // first. Nothing where none is left.
  [[nodiscard]] std::optional<int> next_done();

  [[nodiscard]] double now_seconds() const { return now_; }
  [[nodiscard]] int cores() const { return cores_; }
  [[nodiscard]] int busy_cores() const { return busy_cores_; }
  // The time integral of busy_cores().
  [[nodiscard]] double busy_core_seconds() const { return busy_core_seconds_; }

 private:
  struct Running {
    double done_at;         // on the clock of the group
    std::uint64_t started;  // a serial number, to make ties definite
    int job;
  };
  struct Group {
    int cores;
    double clock = 0;  // seconds that each job present all the time has computed
    double read_at = 0;
    std::vector<Running> running;  // a heap, the first done in front
  };

  void add(std::size_t group, int job, double seconds);
  // Brings the group's clock to the present.
  void catch_up(Group& group) const;
  [[nodiscard]] static double rate(const Group& group);
  [[nodiscard]] static int busy(const Group& group);
  // Tells the tree when the group is next done.
  void reschedule(std::size_t group);

  std::vector<Group> groups_;  // the last one waits
  // A tournament: leaf i is when group i is next done, every inner node the smaller of its two children.
  std::vector<double> tree_;
  std::size_t leaves_ = 1;
  double now_ = 0;
  int cores_;
  int busy_cores_ = 0;
  double busy_core_seconds_ = 0;
  std::uint64_t started_ = 0;
};

}  // namespace millrace::model
