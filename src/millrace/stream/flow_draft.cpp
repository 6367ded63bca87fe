#include "millrace/stream/flow_draft.h"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace millrace::stream {

namespace {

// Set when a port is landed, until the next stage is known.
constexpr int landed_somewhere = PortPlace::unlanded - 1;

// One thread each.
constexpr int most_blocking_threads = 1024;

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
  if (options.blocking_threads < 1 || options.blocking_threads > most_blocking_threads)
    note(fmt::format("stage '{}' has {} blocking threads; give it 1 to {}", name, options.blocking_threads,
                     most_blocking_threads));
  if (form == StageForm::waiting && options.blocking)
    note(fmt::format("stage '{}' waits by a continuation and holds no thread, so it is not to be blocking; "
                     "leave one of the two out",
                     name));
  if (options.limit < 0 || (options.limit > 0 && kind != Kind::parallel))
    note(fmt::format(
        "stage '{}', which is {}, has a limit of {}; parallel stages have one, of 1 or more, or 0 for none",
        name, kind_name(kind), options.limit));
  const std::size_t index = stages.size();
  for (const std::size_t stage : open_.stages)
    stages[stage].next = static_cast<std::uint32_t>(index);
  for (const auto& port : open_.ports)
    port->stage = static_cast<int>(index);
  open_ = {.stages = {index}};

  Stage stage;
  stage.name = std::move(name);
  stage.kind = kind;
  stage.options = options;
  stage.input = input;
  stage.form = form;
  stage.function = std::move(function);
  stages.push_back(std::move(stage));
}

void FlowDraft::land(std::shared_ptr<PortPlace> port) {
  if (port->stage != PortPlace::unlanded)
    return note(fmt::format("port '{}' is landed twice; land it once, in one stream", port->name));
  port->stage = landed_somewhere;
  port->stream = program_->identity;
  open_.ports.push_back(std::move(port));
}

FlowDraft::OpenEnds FlowDraft::begin_branch(std::shared_ptr<PortPlace> port) {
  // Otherwise the source's own items would enter the branch.
  if (program_->stages.empty())
    note(fmt::format("the branch of port '{}' comes before all stages, so none can emit into it; put it "
                     "after the stage that does",
                     port->name));
  OpenEnds before = std::exchange(open_, {});
  before.stream = program_->identity;
  land(std::move(port));
  return before;
}

void FlowDraft::end_branch(const OpenEnds& before, const PortPlace& port) {
  if (before.stream != program_->identity)
    return note(fmt::format("the branch of port '{}' ends in another flow; return the one that it was given, "
                            "extended",
                            port.name));
  open_.stages.insert(open_.stages.end(), before.stages.begin(), before.stages.end());
  open_.ports.insert(open_.ports.end(), before.ports.begin(), before.ports.end());
}

Result<Stream> FlowDraft::finish() {
  if (!problem_.empty()) return usage_error("{}", problem_);
  for (const std::size_t stage : open_.stages)
    program_->stages[stage].next = static_cast<std::uint32_t>(program_->stages.size());
  program_->order_stages();
  return Stream(std::move(program_));
}

}  // namespace millrace::stream
