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
    int place = 0;                    // how many stages the frames wanted have passed
    video::FrameFormat format;        // what frames are; of what a header can say, the producer must agree
    std::int64_t first = 0;           // number of the first frame wanted
    std::function<void()> on_linked;  // each time a producer has begun to answer; by the thread of next()
  };

  explicit IncomingLink(Options options);

  // Where the frames are to be had from now on.
  void set_producer(const Endpoint& producer);
  // So many there are, from number 0 on.
  void end_at(std::int64_t frames);
  void cancel();

  // The next frame, with its number; waits for it, however long that takes. None behind the last one.
  // Interrupted where it was cancelled; failure where what comes is no frame of the format.
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
  [[nodiscard]] Status take_header();
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
  bool header_taken_ = false;
  std::vector<std::byte> received_;
  std::size_t filled_ = 0;  // bytes of it
  std::int64_t next_;
  std::optional<Error> failed_;
};

}  // namespace millrace::cluster
