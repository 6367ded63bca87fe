// A plan, what is decided on or a candidate for it: by which strategy a pipeline runs, on how many cores,
// with which threads, tokens and queues.
#pragma once

#include "millrace/base/export.h"
#include "millrace/model/pipeline/pipeline.h"

#include <array>
#include <optional>
#include <string_view>
#include <vector>

namespace millrace::model {

enum class Strategy {
  pools,           // threads of its own for every stage, divided by demand; as many as cores
  oversubscribed,  // as many threads as cores in every parallel stage
  collapsed,       // neighbouring parallel stages as one, with as many threads as cores
  stealing,        // as many threads as cores, any of them in any stage
};
inline constexpr std::array all_strategies{Strategy::pools, Strategy::oversubscribed, Strategy::collapsed,
                                           Strategy::stealing};
[[nodiscard]] MILLRACE_EXPORT std::string_view to_string(Strategy strategy);
[[nodiscard]] MILLRACE_EXPORT std::optional<Strategy> strategy_of(std::string_view name);

// Threads that run one stage, or several neighbours collapsed into one.
struct Pool {
  int first_stage = 0;
  int last_stage = 0;
  int threads = 1;
};

// How the threads of pools share the cores.
enum class CoreSharing {
  balanced,  // whoever is ready shares all cores evenly: an ideal scheduler
  sticky,    // thread i stays on core i mod cores: a scheduler that hardly ever moves a thread
};

struct MILLRACE_EXPORT Plan {
  Strategy strategy = Strategy::stealing;
  int cores = 1;
  std::vector<Pool> pools;  // empty when stealing
  int queue = 20;           // in front of each pool; without meaning when stealing
  int tokens = 0;           // stealing: at least 1; pools: 0 for as many as the queues take
  int workers = 0;          // stealing: threads that share the cores; 0: one a core
  CoreSharing sharing = CoreSharing::balanced;

  // Cores that its threads can keep busy at most.
  [[nodiscard]] int usable_cores() const;
  // Threads in all.
  [[nodiscard]] int threads() const;
};

// The plan of a strategy on so many cores (>= 1). The pipeline is valid; queue >= 1; tokens >= 1 for
// stealing.
[[nodiscard]] MILLRACE_EXPORT Plan make_plan(const Pipeline& pipeline, Strategy strategy, int cores,
                                             int queue, int tokens);

// What the stream runtime does with its options of these names, where its threads share `cores` cores:
// `pools` and `collapsed` divide the threads evenly among the stages (collapsed: groups of stages) that
// compute in parallel, at least one each; all others have one thread of their own. All arguments >= 1.
[[nodiscard]] MILLRACE_EXPORT Plan make_runtime_plan(const Pipeline& pipeline, Strategy strategy, int threads,
                                                     int cores, int queue, int tokens);

}  // namespace millrace::model
