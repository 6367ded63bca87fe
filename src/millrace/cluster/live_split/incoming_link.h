// IncomingLink: receives the frames of the previous section, from any node that runs it.
#pragma once

#include "millrace/base/descriptor/descriptor.h"
#include "millrace/base/error/result.h"
#include "millrace/cluster/live_split/endpoint.h"
#include "millrace/cluster/live_split/wake_up.h"
#include "millrace/video/frame/frame_pool.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace millrace::cluster {

// Requests frames from an OutgoingLink, each once and in order. If the connection breaks, it requests the
// remaining frames again, from the same producer or from a new one that was set. next() is called by one
// thread, everything else by any.
class IncomingLink {
 public:
  struct Options {
    std::string job;
    std::string token;
    int place = 0;                                 // number of stages that the wanted frames have passed
    video::FrameFormat format;                     // the frame format; the producer's header must match it
    std::int64_t first = 0;                        // number of the first frame wanted
    std::int64_t unreachable_ns = 10'000'000'000;  // timeout after which a silent producer is given up
    // Called by the thread of next():
    std::function<void()> on_linked;  // each time a producer has begun to answer
    // The producer does not answer or sends other frames, for this reason. It is not asked again.
    std::function<void(const Endpoint&, const std::string&)> on_trouble;
  };

  explicit IncomingLink(Options options);

  // Sets the address of the frames from now on.
  void set_producer(const Endpoint& producer);
  // The total number of frames, counted from number 0.
  void end_at(std::int64_t frames);
  void cancel();

  // Waits without a time limit for the next frame, which carries its number. Empty after the last one.
  // Interrupted if cancelled.
  [[nodiscard]] Result<std::optional<video::Frame>> next();

 private:
  enum class Step { again, ended, cancelled };

  // Applies the calls of other threads.
  [[nodiscard]] Step look();
  void connect();
  void disconnect();
  void send_request();
  // Reads the available data. True if there was any.
  [[nodiscard]] bool receive();
  // True if a whole frame has arrived.
  [[nodiscard]] bool take();
  void take_header();
  // The producer is unusable.
  void give_up(const std::string& why);
  void wait_for(short events, int most_ms) const;

  const Options options_;
  const std::size_t frame_bytes_;
  video::FramePool pool_;
  WakeUp wake_;
  std::mutex mutex_;
  std::optional<Endpoint> producer_;
  bool changed_ = false;  // the producer has changed
  std::optional<std::int64_t> end_;
  bool cancelled_ = false;
  // Used by the thread of next().
  std::optional<Endpoint> at_;  // the current producer
  Descriptor socket_;
  bool connecting_ = false;
  std::size_t attempt_ = 0;  // number of connection attempts
  bool header_taken_ = false;
  std::vector<std::byte> received_;
  std::size_t filled_ = 0;  // bytes of it
  std::int64_t next_;
  std::int64_t unanswered_ns_ = 0;  // since when the producer has been silent
};

}  // namespace millrace::cluster
