// The models of Navarro, Asenjo, Tabik, Cascaval, "Analytical Modeling of Pipeline Parallelism" (PACT 2009),
// as stated in the paper. closed_network.h and simulation.h go further. Throughputs are in source items per
// second, times in seconds. Every stage is represented by its demand: its seconds of work for one source
// item.
#pragma once

#include <cstdint>
#include <vector>

namespace millrace::model::paper {

struct Station {
  double seconds = 0;  // > 0
  int threads = 1;     // >= 1
  bool serial = false;
};

// Case 1, closed pipeline (section 3.1): every stage is an M/M/c/N/K queue with N = K = queue. All have the
// same time between requests, that of the longest stage. Equation 3 for each stage, then the minimum
// (equation 1).
[[nodiscard]] double closed_throughput(const std::vector<Station>& stations, int queue);

// Case 2, open pipeline (3.2): every stage is an M/M/c queue whose arrival rate is the rate of the earlier
// ones. Equation 4 for each stage, then the minimum (equation 1).
[[nodiscard]] double open_throughput(const std::vector<Station>& stations);

struct StealingInput {
  double seconds = 0;         // of one item in all its stages, on one thread
  double slowest_serial = 0;  // seconds of the slower of the input and output stages
  int threads = 1;
  double tokens_per_thread = 5;  // rounded down to whole items, at least 1
};

struct StealingSteps {
  double local = 0;           // step 1: throughput of one thread without stealing
  double idle_elsewhere = 0;  // n_j, equation 6: servers that could steal
  double stolen = 0;          // v, step 2: mean number of effectively stolen tasks
  double with_stealing = 0;   // step 3: throughput of one thread
  double total = 0;           // equations 1 (case 3), 7 and 10: bounded by serial stages and by threads
};

// Case 3, work stealing in three steps (3.3). Step 3 can exceed the capacity of a thread, because v adds
// servers to a queue that is never empty. So the bound by all threads (equation 10) is applied.
[[nodiscard]] StealingSteps stealing(const StealingInput& input);

// "Ideal": one central M/M/npTh/ntokens/ntokens queue (3.3), with equation 7.
[[nodiscard]] double central_queue_throughput(const StealingInput& input);

// Equation 2, Little's law over a whole run.
[[nodiscard]] double run_seconds(std::int64_t items, double throughput);

// The fraction of a bound that counts as reaching it, if the throughput only approaches it.
inline constexpr double reaches = 0.99;

// Equations 8 to 10 for case 1: the upper bound of throughput for any queue.
[[nodiscard]] double closed_upper_bound(const std::vector<Station>& stations);
// The smallest N whose throughput reaches that bound (section 3.4), at most `most`. 0 if none does.
[[nodiscard]] int optimal_queue(const std::vector<Station>& stations, int most = 10'000);
// The same for tokens per thread in case 3.
[[nodiscard]] int optimal_tokens_per_thread(StealingInput input, int most = 1'000);
// The smallest number of threads per parallel stage with which case 1 reaches its maximum for this queue. The
// limit is either the serial stages or the number of threads that a queue of N can feed. At most `most`.
[[nodiscard]] int optimal_threads(std::vector<Station> stations, int queue, int most = 1'000);
// The smallest number of threads with which case 3 reaches the limit by serial stages. 0 if none does.
[[nodiscard]] int optimal_stealing_threads(StealingInput input, int most = 1'000);

}  // namespace millrace::model::paper
