// Plan: the strategy, cores, threads, tokens and queues with which a pipeline runs, as decided or as a
// candidate.
#pragma once

#include "millrace/base/error/export.h"
#include "millrace/model/pipeline/pipeline.h"

#include <array>
#include <optional>
#include <string_view>
#include <vector>

namespace millrace::model {

enum class Strategy {
  pools,           // separate threads for every stage, divided by demand; as many as cores
  oversubscribed,  // as many threads as cores in every parallel stage
  collapsed,       // adjacent parallel stages as one, with as many threads as cores
  stealing,        // as many threads as cores, each of which can run any stage
};
inline constexpr std::array all_strategies{Strategy::pools, Strategy::oversubscribed, Strategy::collapsed,
                                           Strategy::stealing};
[[nodiscard]] MILLRACE_EXPORT std::string_view to_string(Strategy strategy);
[[nodiscard]] MILLRACE_EXPORT std::optional<Strategy> strategy_of(std::string_view name);

// Threads that run one stage, or several adjacent ones collapsed into one.
struct Pool {
  int first_stage = 0;
  int last_stage = 0;
  int threads = 1;
};

// How the threads of pools share the cores.
enum class CoreSharing {
  balanced,  // runnable threads share all cores evenly: an ideal scheduler
  sticky,    // thread i stays on core i mod cores: a scheduler that rarely migrates threads
};

struct MILLRACE_EXPORT Plan {
  Strategy strategy = Strategy::stealing;
  int cores = 1;
  std::vector<Pool> pools;  // empty for stealing
  int queue = 20;           // in front of each pool; unused for stealing
  int tokens = 0;           // stealing: at least 1; pools: 0 for as many as the queues hold
  int workers = 0;          // stealing: threads that share the cores; 0: one per core
  CoreSharing sharing = CoreSharing::balanced;

  // Maximum number of cores that its threads can keep busy.
  [[nodiscard]] int usable_cores() const;
  // Total number of threads.
  [[nodiscard]] int threads() const;
};

// The plan of a strategy on the given cores (>= 1). The pipeline must be valid; queue >= 1; tokens >= 1 for
// stealing.
[[nodiscard]] MILLRACE_EXPORT Plan make_plan(const Pipeline& pipeline, Strategy strategy, int cores,
                                             int queue, int tokens);

// The plan that the stream runtime makes from its options of these names if its threads share `cores` cores.
// `pools` and `collapsed` divide the threads evenly among the computing parallel stages (or groups of
// stages), at least one each. All other stages have one thread of their own. All arguments >= 1.
[[nodiscard]] MILLRACE_EXPORT Plan make_runtime_plan(const Pipeline& pipeline, Strategy strategy, int threads,
                                                     int cores, int queue, int tokens);

}  // namespace millrace::model
