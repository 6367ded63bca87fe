// Processors: simulated cores and the jobs that compute on them.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace millrace::model {

// Groups of cores. The jobs of a group share its cores evenly (processor sharing): k jobs on m cores run at
// min(1, m / k) each. One more group, without a limit, holds the jobs that wait for a device. Owns the
// simulated clock. Used by one thread.
class Processors {
 public:
  // groups >= 1 with cores_per_group >= 1 each. The caller numbers the jobs. A job can only run once at a
  // time.
  Processors(int groups, int cores_per_group);

  // The job computes for that many seconds of a dedicated core.
  void compute(int job, int group, double seconds);
  // The job waits for that many seconds without using a core.
  void wait(int job, double seconds);
  // Advances to the next completed job. Ties go to the lowest group, then to the job that started first.
  // Empty if no job is left.
  [[nodiscard]] std::optional<int> next_done();

  [[nodiscard]] double now_seconds() const { return now_; }
  [[nodiscard]] int cores() const { return cores_; }
  [[nodiscard]] int busy_cores() const { return busy_cores_; }
  // The time integral of busy_cores().
  [[nodiscard]] double busy_core_seconds() const { return busy_core_seconds_; }

 private:
  struct Running {
    double done_at;         // on the clock of the group
    std::uint64_t started;  // a serial number that breaks ties
    int job;
  };
  struct Group {
    int cores;
    double clock = 0;  // computing time of a job that is always present, in seconds
    double read_at = 0;
    std::vector<Running> running;  // a heap with the first to finish in front
  };

  void add(std::size_t group, int job, double seconds);
  // Advances the group's clock to the present.
  void catch_up(Group& group) const;
  [[nodiscard]] static double rate(const Group& group);
  [[nodiscard]] static int busy(const Group& group);
  // Updates the tree with the group's next completion.
  void reschedule(std::size_t group);

  std::vector<Group> groups_;  // the last one holds waiting jobs
  // A tournament tree: leaf i is the next completion of group i, every inner node the minimum of its
  // children.
  std::vector<double> tree_;
  std::size_t leaves_ = 1;
  double now_ = 0;
  int cores_;
  int busy_cores_ = 0;
  double busy_core_seconds_ = 0;
  std::uint64_t started_ = 0;
};

}  // namespace millrace::model
