// A line of stages on Taskflow's pipeline, for comparison. Included only if MILLRACE_TASKFLOW names its
// headers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include <taskflow/algorithm/pipeline.hpp>
#include <taskflow/taskflow.hpp>

namespace millrace::stream {

// Item by item, in Taskflow's idiom: each line has its own slot for an item.
class TaskflowLine {
 public:
  using Item = std::uint64_t;
  // Returns false at the end.
  using Source = std::function<bool(Item& item)>;

  // `serial`: for each stage, whether it takes one item at a time. Taskflow's serial stages are in order.
  template <class Call>
  TaskflowLine(std::size_t lines, const std::vector<bool>& serial, Source source, Call call)
      : items_(lines), source_(std::move(source)) {
    pipes_.emplace_back(tf::PipeType::SERIAL, [this](tf::Pipeflow& flow) {
      if (!source_(items_[flow.line()].item)) flow.stop();
    });
    for (std::size_t stage = 0; stage < serial.size(); ++stage)
      pipes_.emplace_back(serial[stage] ? tf::PipeType::SERIAL : tf::PipeType::PARALLEL,
                          [this, stage, call](tf::Pipeflow& flow) {
                            Item& item = items_[flow.line()].item;
                            item = call(stage, item);
                          });
    pipeline_.emplace(lines, pipes_.begin(), pipes_.end());
    taskflow_.composed_of(*pipeline_);
  }

  // May be called once.
  void run(tf::Executor& executor) { executor.run(taskflow_).wait(); }
  // For use inside a task of the executor.
  void run_within(tf::Executor& executor) { executor.corun(taskflow_); }

 private:
  using Pipes = std::vector<tf::Pipe<std::function<void(tf::Pipeflow&)>>>;
  struct alignas(128) Place {
    Item item = 0;
  };

  std::vector<Place> items_;
  Source source_;
  Pipes pipes_;
  std::optional<tf::ScalablePipeline<Pipes::iterator>> pipeline_;
  tf::Taskflow taskflow_;
};

}  // namespace millrace::stream
