// IncomingLink: frames of the section before, wherever that is done.
#pragma once

#include "millrace/base/descriptor.h"
#include "millrace/base/result.h"
#include "millrace/cluster/cut/endpoint.h"
#include "millrace/cluster/cut/wake_up.h"
#include "millrace/video/frame/frame_pool.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace millrace::cluster {

// Asks an OutgoingLink for frames, each once and in order. Where the connection breaks, it asks again from
// the frame on that it has not had, the same producer or the one it is told of. next() by one thread, all
// else by any.
class IncomingLink {
 public:
  struct Options {
    std::string job;
    std::string token;
    int place = 0;              // how many stages the frames wanted have passed
    video::FrameFormat format;  // what frames are; of what a header can say, the producer must agree
    std::int64_t first = 0;     // number of the first frame wanted
    std::int64_t unreachable_ns = 10'000'000'000;  // a producer that does not answer for so long is none
    // By the thread of next():
    std::function<void()> on_linked;  // each time a producer has begun to answer
    // Of a producer that does not answer, or sends other frames, and why: it is asked no more.
    std::function<void(const Endpoint&, const std::string&)> on_trouble;
  };

  explicit IncomingLink(Options options);

  // Where the frames are to be had from now on.
  void set_producer(const Endpoint& producer);
  // So many there are, from number 0 on.
  void end_at(std::int64_t frames);
  void cancel();

  // The next frame, with its number; waits for it, however long that takes. None behind the last one.
  // Interrupted where it was cancelled.
  [[nodiscard]] Result<std::optional<video::Frame>> next();

 private:
  enum class Step { again, ended, cancelled };

  // What was told from outside.
  [[nodiscard]] Step look();
  void connect();
  void disconnect();
  void send_request();
  // Reads what there is. True where something came.
  [[nodiscard]] bool receive();
  // True where a whole frame has come.
  [[nodiscard]] bool take();
  void take_header();
  // The producer is of no use.
  void give_up(const std::string& why);
  void wait_for(short events, int most_ms) const;

  const Options options_;
  const std::size_t frame_bytes_;
  video::FramePool pool_;
  WakeUp wake_;
  std::mutex mutex_;
  std::optional<Endpoint> producer_;
  bool changed_ = false;  // the producer is another one
  std::optional<std::int64_t> end_;
  bool cancelled_ = false;
  // Of the thread of next().
  std::optional<Endpoint> at_;  // the producer, as it was told last
  Descriptor socket_;
  bool connecting_ = false;
  std::size_t attempt_ = 0;  // to connect
  bool header_taken_ = false;
  std::vector<std::byte> received_;
  std::size_t filled_ = 0;  // bytes of it
  std::int64_t next_;
  std::int64_t unanswered_ns_ = 0;  // since when
};

}  // namespace millrace::cluster
