// Program: the stages of a stream with their types forgotten, as the builder leaves them and the runtime runs
// them.
#pragma once

#include "millrace/base/export.h"
#include "millrace/stream/item/item_type.h"
#include "millrace/stream/program/emission.h"
#include "millrace/stream/program/wait.h"
#include "millrace/stream/run/stage_options.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

namespace millrace::stream {

// A stage's function. What it throws, or tells Emission::fail, is the item's failure. Either call consumes
// `item`: it is destroyed when the call returns or throws.
class MILLRACE_EXPORT StageFunction {
 public:
  virtual ~StageFunction() = default;
  // Emits any number of outputs.
  virtual void call(void* item, Emission& out) = 0;
  // The same where the form is mapping, in_place or sink: builds the one output at `output`, or fails and
  // returns false. Most calls are
  // such, so they are spared the bookkeeping of several outputs.
  [[nodiscard]] virtual bool map(void* /*item*/, void* /*output*/, Emission& /*out*/) { return false; }
  // The same where the form is waiting: `wait` will be completed, perhaps already is, unless the call fails.
  // NOLINTNEXTLINE(performance-unnecessary-value-param): those that wait keep it.
  virtual void begin(void* /*item*/, std::shared_ptr<Wait> /*wait*/, Emission& /*out*/) {}

 protected:
  StageFunction() = default;
  StageFunction(const StageFunction&) = default;
  StageFunction& operator=(const StageFunction&) = default;
};

class MILLRACE_EXPORT SourceFunction {
 public:
  virtual ~SourceFunction() = default;
  struct Made {
    bool item = false;  // none at the end of the stream, and when the call failed
    std::size_t bytes = 0;
  };
  // Builds the next item at `place`. Failures as of a stage's function.
  [[nodiscard]] virtual Made next(const std::stop_token& stop, void* place, Emission& out) = 0;
  // Around each run of the stream; run_ended() however it ended.
  virtual void run_begins() {}
  virtual void run_ended() {}

 protected:
  SourceFunction() = default;
  SourceFunction(const SourceFunction&) = default;
  SourceFunction& operator=(const SourceFunction&) = default;
};

// What a call of a stage's function may put out.
enum class StageForm {
  mapping,   // one output, for Stage::next
  in_place,  // the same, of the same type, made of the item where it lies
  emitting,  // any number, to anywhere further down, and the end of the stream
  sink,      // nothing
  waiting,   // one output, for Stage::next, or none, when its Wait is completed
};

struct Stage {
  std::string name;
  Kind kind = Kind::parallel;
  StageOptions options;
  ItemType input;
  StageForm form = StageForm::emitting;
  std::unique_ptr<StageFunction> function;
  // Where outputs go that are sent to no port; always further down. stages.size() behind the last stage.
  std::uint32_t next = 0;
  // How many stages in order come before this one: what is at a stage with ordinal n has been past, or has
  // passed over, the first n of them.
  std::uint32_t ordinal = 0;
};

// A branch's stages lie between the stage before the branch and the one behind it, so that all items move
// towards greater indices.
class Program {
 public:
  // Compares equal for no two programs, as long as anybody keeps it.
  std::shared_ptr<const void> identity = std::make_shared<char>();
  std::string source_name;
  bool source_blocking = false;
  bool source_sized = false;  // the user tells the size of an item
  std::unique_ptr<SourceFunction> source;
  std::vector<Stage> stages;
  std::uint32_t ordinals = 0;  // how many stages are in order

  // Every type that a token may have to carry.
  [[nodiscard]] std::vector<ItemType> item_types() const {
    std::vector<ItemType> types;
    types.reserve(stages.size());
    for (const Stage& stage : stages)
      types.push_back(stage.input);
    return types;
  }
  // Whether anything is to have threads of its own.
  [[nodiscard]] bool blocks() const {
    return source_blocking ||
           std::ranges::any_of(stages, [](const Stage& stage) { return stage.options.blocking; });
  }
  // Whether items are resumed by threads that are not the run's.
  [[nodiscard]] bool waits() const {
    return std::ranges::find(stages, StageForm::waiting, &Stage::form) != stages.end();
  }
  [[nodiscard]] std::uint32_t ordinal_at(std::uint32_t position) const {
    return position < stages.size() ? stages[position].ordinal : ordinals;
  }
};

}  // namespace millrace::stream
