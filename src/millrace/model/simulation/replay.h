// Replay: feeds the calls of a recorded run to a simulation, item by item.
#pragma once

#include "millrace/model/pipeline/recorded_calls.h"

#include <cstdint>
#include <vector>

namespace millrace::model {

// Each item in flight is identified by its token. The parts of a split item share its calls: the first to
// reach a stage gets the first call, and parts without a call bypass the stage. Used by one thread.
class Replay {
 public:
  // `recorded` must outlive this object and have at least one item.
  explicit Replay(const RecordedCalls& recorded) : recorded_(&recorded) {}

  // The token now carries this source item. The recording repeats after its last item.
  void begin(int token, std::int64_t source_item);
  // Whether the arriving part has no call at the stage. Otherwise reserves a call for it.
  [[nodiscard]] bool bypasses(int token, int stage);
  // Seconds of the next call.
  [[nodiscard]] double service(int token, int stage);
  // Number of parts emitted by the next call to end.
  [[nodiscard]] int outputs(int token, int stage);

 private:
  struct Progress {  // calls of a stage that were reserved, begun and ended
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
