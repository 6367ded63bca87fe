// SectionRun: one section of a cut, from the link to the section before to the link to the next.
#pragma once

#include "millrace/base/result.h"
#include "millrace/cluster/cut/cut_messages.h"
#include "millrace/cluster/cut/incoming_link.h"
#include "millrace/cluster/cut/outgoing_link.h"
#include "millrace/run/video/workplace.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

namespace millrace::cluster {

// run() by the thread of the workplace, all else by any.
class SectionRun {
 public:
  struct Options {
    std::string job;
    std::string token;
    std::string host;  // to listen at
    bool no_profile = false;
    // As of IncomingLink.
    std::function<void()> on_linked;
    std::function<void(const Endpoint&, const std::string&)> on_trouble;
  };

  // Listens already; others may come for frames before there are any.
  [[nodiscard]] static Result<std::unique_ptr<SectionRun>> open(const Assignment& assignment,
                                                                const Options& options);

  // To the last frame. The frames stay to be had until this object goes.
  [[nodiscard]] Status run(run::Workplace& workplace);

  [[nodiscard]] int port() const { return outgoing_->port(); }
  void set_producer(const Endpoint& producer) { incoming_.set_producer(producer); }
  // So many frames the video has.
  void end_at(std::int64_t frames) { incoming_.end_at(frames > 0 ? frames + assignment_.beyond : 0); }
  // So many frames were written.
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

// Seconds in which the workplace computes a frame of a section: the median of a few, of noise. `made`: what
// it makes, codes or numbers.
[[nodiscard]] Result<double> measure_section(run::Workplace& workplace, const std::string& pipeline,
                                             image::Planes planes, const video::FrameFormat& input,
                                             const video::SampleForms& made, const std::stop_token& stop);

}  // namespace millrace::cluster
