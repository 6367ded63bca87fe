// FlowDraft: the half of the builder to which the items' types do not matter.
#pragma once

#include "millrace/base/export.h"
#include "millrace/base/result.h"
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

// What a Flow has put together so far. Takes note of the first mistake and reports it in finish().
class MILLRACE_EXPORT FlowDraft {
 public:
  FlowDraft(std::string source_name, bool blocking, bool sized, std::unique_ptr<SourceFunction> source);

  // Adds a stage behind everything that is open.
  void add(Kind kind, std::string name, StageOptions options, ItemType input, StageForm form,
           std::unique_ptr<StageFunction> function);
  // The port's items go on where the stage that comes next will be; its index is written to `port`.
  void land(std::shared_ptr<PortPlace> port);
  // What goes on at the stage that comes next: stages whose output does, and ports.
  struct OpenEnds {
    std::vector<std::size_t> stages;
    std::vector<std::shared_ptr<PortPlace>> ports;
    std::shared_ptr<const void> stream;
  };
  // Between the two, stages are added to a branch that the port's items alone enter.
  [[nodiscard]] OpenEnds begin_branch(std::shared_ptr<PortPlace> port);
  void end_branch(const OpenEnds& before, const PortPlace& port);
  // The program, or a usage error that says what is wrong with it.
  [[nodiscard]] Result<Stream> finish();

 private:
  void note(std::string problem);

  std::unique_ptr<Program> program_;
  OpenEnds open_;
  std::string problem_;  // the first; empty when all is well
};

}  // namespace millrace::stream
