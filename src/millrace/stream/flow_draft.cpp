#include "millrace/stream/flow_draft.h"

#include "millrace/stream/port.h"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace millrace::stream {

namespace {

// Set when a port is landed, until the stage behind it is known.
constexpr int landed_somewhere = unlanded - 1;

}  // namespace

FlowDraft::FlowDraft(std::string source_name, bool blocking, bool sized,
                     std::unique_ptr<SourceFunction> source)
    : program_(std::make_unique<Program>()) {
  if (source_name.empty()) note("the source has no name; give it one");
  program_->source_name = std::move(source_name);
  program_->source_blocking = blocking;
  program_->source_sized = sized;
  program_->source = std::move(source);
}

void FlowDraft::note(std::string problem) {
  if (problem_.empty()) problem_ = std::move(problem);
}

void FlowDraft::add(Kind kind, std::string name, StageOptions options, ItemType input, StageForm form,
                    std::unique_ptr<StageFunction> function) {
  auto& stages = program_->stages;
  if (name.empty()) note(fmt::format("stage {} has no name; give it one", stages.size() + 1));
  if (name == program_->source_name || std::ranges::find(stages, name, &Stage::name) != stages.end())
    note(fmt::format("two stages are named '{}'; give each a name of its own", name));
  if (options.blocking_threads < 1)
    note(fmt::format("stage '{}' has {} blocking threads; give it at least 1", name,
                     options.blocking_threads));
  const std::size_t index = stages.size();
  for (const std::size_t stage : open_.stages)
    stages[stage].next = static_cast<std::uint32_t>(index);
  for (const auto& port : open_.ports)
    *port = static_cast<int>(index);
  open_ = {.stages = {index}, .ports = {}};

  Stage stage;
  stage.name = std::move(name);
  stage.kind = kind;
  stage.options = options;
  stage.input = input;
  stage.form = form;
  stage.function = std::move(function);
  stage.ordinal = program_->ordinals;
  if (kind == Kind::serial_in_order) ++program_->ordinals;
  stages.push_back(std::move(stage));
}

void FlowDraft::land(std::shared_ptr<int> place, const std::string& port_name) {
  if (*place != unlanded) return note(fmt::format("port '{}' is landed twice; land it once", port_name));
  *place = landed_somewhere;
  open_.ports.push_back(std::move(place));
}

FlowDraft::OpenEnds FlowDraft::begin_branch(std::shared_ptr<int> place, const std::string& port_name) {
  OpenEnds before = std::exchange(open_, {});
  land(std::move(place), port_name);
  return before;
}

void FlowDraft::end_branch(const OpenEnds& before) {
  open_.stages.insert(open_.stages.end(), before.stages.begin(), before.stages.end());
  open_.ports.insert(open_.ports.end(), before.ports.begin(), before.ports.end());
}

Result<Stream> FlowDraft::finish() {
  if (!problem_.empty()) return usage_error("{}", problem_);
  for (const std::size_t stage : open_.stages)
    program_->stages[stage].next = static_cast<std::uint32_t>(program_->stages.size());
  return Stream(std::move(program_));
}

}  // namespace millrace::stream
