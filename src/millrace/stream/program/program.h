// Program: the type-erased stages of a stream, from the builder to the runtime.
#pragma once

#include "millrace/base/error/export.h"
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

// A stage's function. An exception, or a call of Emission::fail, fails the item. Both calls consume `item`:
// it is destroyed when the call returns or throws.
class MILLRACE_EXPORT StageFunction {
 public:
  virtual ~StageFunction() = default;
  // Emits any number of outputs.
  virtual void call(void* item, Emission& out) = 0;
  // The same for the forms mapping, in_place and sink: builds the single output at `output`, or fails and
  // returns false. Most calls are of these forms, so they skip the bookkeeping for several outputs.
  [[nodiscard]] virtual bool map(void* /*item*/, void* /*output*/, Emission& /*out*/) { return false; }
  // The same for the form waiting. Unless the call fails, `wait` will be completed, and may already be.
  // NOLINTNEXTLINE(performance-unnecessary-value-param): functions that wait keep it.
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
    bool item = false;  // false at the end of the stream and if the call failed
    std::size_t bytes = 0;
  };
  // Builds the next item at `place`. Reports failures like a stage's function.
  [[nodiscard]] virtual Made next(const std::stop_token& stop, void* place, Emission& out) = 0;
  // Called before and after each run of the stream. run_ended() is called whatever the outcome.
  virtual void run_begins() {}
  virtual void run_ended() {}

 protected:
  SourceFunction() = default;
  SourceFunction(const SourceFunction&) = default;
  SourceFunction& operator=(const SourceFunction&) = default;
};

// The outputs that a stage's function may have.
enum class StageForm {
  mapping,    // one output, for Stage::next
  in_place,   // the same, with the item's own type, modified in place
  emitting,   // any number, to any later stage; may end the stream
  filtering,  // at most one, for Stage::next
  sink,       // nothing
  waiting,    // one output for Stage::next, or none, when its Wait is completed
};

struct Stage {
  std::string name;
  Kind kind = Kind::parallel;
  StageOptions options;
  ItemType input;
  StageForm form = StageForm::emitting;
  std::unique_ptr<StageFunction> function;
  // Destination of outputs that are not sent to a port, always a later stage. stages.size() after the last
  // stage.
  std::uint32_t next = 0;
  // Set by Program::order_stages(). Items enter in order: if `kind` is serial_in_order, because the user
  // asked for it; otherwise because calls may wait for room, see README.md.
  bool in_order = false;
  // Number of in-order stages before this one. A token at a stage with ordinal n has passed, or been passed
  // over by, the first n of them.
  std::uint32_t ordinal = 0;
};

// A branch's stages are stored between the stage before the branch and the one after it, so items always move
// towards greater indices.
class Program {
 public:
  // Unique among programs for as long as any copy of it is kept.
  std::shared_ptr<const void> identity = std::make_shared<char>();
  std::string source_name;
  bool source_blocking = false;
  bool source_sized = false;  // the user specifies the size of each item
  std::unique_ptr<SourceFunction> source;
  std::vector<Stage> stages;
  std::uint32_t ordinals = 0;  // how many stages are in order

  // Call this once all stages are known.
  MILLRACE_EXPORT void order_stages();
  // Whether calls may make so many outputs that they wait for room.
  [[nodiscard]] bool makes_many() const {
    return std::ranges::find(stages, StageForm::emitting, &Stage::form) != stages.end();
  }

  // All types that a token may carry.
  [[nodiscard]] std::vector<ItemType> item_types() const {
    std::vector<ItemType> types;
    types.reserve(stages.size());
    for (const Stage& stage : stages)
      types.push_back(stage.input);
    return types;
  }
  // Whether the source or any stage has threads of its own.
  [[nodiscard]] bool blocks() const {
    return source_blocking ||
           std::ranges::any_of(stages, [](const Stage& stage) { return stage.options.blocking; });
  }
  // Whether threads outside the run resume items.
  [[nodiscard]] bool waits() const {
    return std::ranges::find(stages, StageForm::waiting, &Stage::form) != stages.end();
  }
  [[nodiscard]] std::uint32_t ordinal_at(std::uint32_t position) const {
    return position < stages.size() ? stages[position].ordinal : ordinals;
  }
};

}  // namespace millrace::stream
