// SectionRun: one section of a live split, from its incoming link to its outgoing link.
#pragma once

#include "millrace/base/error/result.h"
#include "millrace/cluster/live_split/incoming_link.h"
#include "millrace/cluster/live_split/outgoing_link.h"
#include "millrace/cluster/live_split/split_messages.h"
#include "millrace/run/video/execution_context.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

namespace millrace::cluster {

// run() is called by the thread of the execution context, everything else by any thread.
class SectionRun {
 public:
  struct Options {
    std::string job;
    std::string token;
    std::string host;  // to listen at
    bool no_profile = false;
    // As in IncomingLink.
    std::function<void()> on_linked;
    std::function<void(const Endpoint&, const std::string&)> on_trouble;
  };

  // Already listens on return. Consumers may connect before there are frames.
  [[nodiscard]] static Result<std::unique_ptr<SectionRun>> open(const Assignment& assignment,
                                                                const Options& options);

  // Runs to the last frame. Frames stay available until this object is destroyed.
  [[nodiscard]] Status run(run::ExecutionContext& context);

  [[nodiscard]] int port() const { return outgoing_->port(); }
  void set_producer(const Endpoint& producer) { incoming_.set_producer(producer); }
  // Sets the video's total number of frames.
  void end_at(std::int64_t frames) { incoming_.end_at(frames > 0 ? frames + assignment_.beyond : 0); }
  // Reports the number of frames written.
  void written(std::int64_t frames) { outgoing_->release(frames); }
  void stop();

 private:
  SectionRun(Assignment assignment, const Options& options, std::unique_ptr<OutgoingLink> outgoing);

  const Assignment assignment_;
  const bool no_profile_;
  IncomingLink incoming_;
  std::unique_ptr<OutgoingLink> outgoing_;
  std::stop_source stop_;
};

// Seconds per frame of a section in this execution context: the median of a few frames of noise. `made`: the
// form of its output, codes or numbers.
[[nodiscard]] Result<double> measure_section(run::ExecutionContext& context, const std::string& pipeline,
                                             image::Planes planes, const video::FrameFormat& input,
                                             const video::SampleForms& made, const std::stop_token& stop);

}  // namespace millrace::cluster
