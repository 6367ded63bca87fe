// FlowDraft: the part of the builder that does not depend on the items' types.
#pragma once

#include "millrace/base/error/export.h"
#include "millrace/base/error/result.h"
#include "millrace/stream/item/item_type.h"
#include "millrace/stream/item/port.h"
#include "millrace/stream/program/program.h"
#include "millrace/stream/run/stage_options.h"
#include "millrace/stream/stream.h"

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace millrace::stream {

// The part of a Flow built so far. Records the first mistake and reports it in finish().
class MILLRACE_EXPORT FlowDraft {
 public:
  FlowDraft(std::string source_name, bool blocking, bool sized, std::unique_ptr<SourceFunction> source);

  // Adds a stage after all open ends.
  void add(Kind kind, std::string name, StageOptions options, ItemType input, StageForm form,
           std::unique_ptr<StageFunction> function);
  // The port's items go on to the next stage that is added. The index of that stage is written to `port`.
  void land(std::shared_ptr<PortPlace> port);
  // The stages and ports whose outputs go on to the next stage that is added.
  struct OpenEnds {
    std::vector<std::size_t> stages;
    std::vector<std::shared_ptr<PortPlace>> ports;
    std::shared_ptr<const void> stream;
  };
  // Stages added between these two calls form a branch that only the port's items enter.
  [[nodiscard]] OpenEnds begin_branch(std::shared_ptr<PortPlace> port);
  void end_branch(const OpenEnds& before, const PortPlace& port);
  // The program, or a usage error that describes the first mistake.
  [[nodiscard]] Result<Stream> finish();

 private:
  void note(std::string problem);

  std::unique_ptr<Program> program_;
  OpenEnds open_;
  std::string problem_;  // the first; empty if there is none
};

}  // namespace millrace::stream
