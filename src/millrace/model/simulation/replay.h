// Goes through the calls of a recorded run, item by item, in a simulation.
#pragma once

#include "millrace/model/pipeline/recorded_calls.h"

#include <cstdint>
#include <vector>

namespace millrace::model {

// Each item in flight is known by its token. The parts of a split item share its calls: whichever comes to a
// stage first has the first of them; those for which none is left bypass the stage. Used by one thread.
class Replay {
 public:
  // `recorded` outlives it; at least one item.
  explicit Replay(const RecordedCalls& recorded) : recorded_(&recorded) {}

  // The token carries this item of the source from now on; after the last recorded item comes the first.
  void begin(int token, std::int64_t source_item);
  // Whether the part that arrives at the stage has no call there; else a call is set aside for it.
  [[nodiscard]] bool bypasses(int token, int stage);
  // Seconds of the next call.
  [[nodiscard]] double service(int token, int stage);
  // Parts that the next call to end emits.
  [[nodiscard]] int outputs(int token, int stage);

 private:
  struct Progress {  // calls of a stage that were set aside, begun, and have ended
    std::size_t taken = 0;
    std::size_t begun = 0;
    std::size_t ended = 0;
  };
  struct Carried {
    const std::vector<StageCalls>* calls = nullptr;
    std::vector<Progress> stages;
  };
  [[nodiscard]] Carried& at(int token) { return carried_[static_cast<std::size_t>(token)]; }

  const RecordedCalls* recorded_;
  std::vector<Carried> carried_;  // by token
};

}  // namespace millrace::model
