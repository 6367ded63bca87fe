// OutgoingLink: frames for the next section, wherever that is done, and whoever takes its place.
#pragma once

#include "millrace/base/descriptor.h"
#include "millrace/base/result.h"
#include "millrace/cluster/cut/acceptor.h"
#include "millrace/cluster/cut/endpoint.h"
#include "millrace/cluster/cut/wake_up.h"
#include "millrace/video/frame/frame.h"

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <poll.h>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

namespace millrace::cluster {

// Listens for a consumer, and sends it frames as y4m from the one on that it asks for. Frames are held until
// they are released, so that another consumer can have them again where the first is lost; the last who came
// is the one who counts. Whoever does not know job and token gets nothing.
//
// put() by one thread, which waits while `window` frames are held; release() and cancel() by any.
class OutgoingLink {
 public:
  struct Options {
    Endpoint address;  // to listen at, and nowhere else; port 0: one that is free
    std::string job;
    std::string token;
    int place = 0;  // how many stages its frames have passed
    video::FrameFormat format;
    std::int64_t first = 0;    // number of the first frame that is put
    std::int64_t window = 16;  // frames, at least 1
  };

  [[nodiscard]] static Result<std::unique_ptr<OutgoingLink>> open(Options options);
  ~OutgoingLink();
  OutgoingLink(const OutgoingLink&) = delete;
  OutgoingLink& operator=(const OutgoingLink&) = delete;

  [[nodiscard]] int port() const { return acceptor_.port(); }

  // The next frame. Interrupted where it was cancelled; failure where the thread that sends had to give up,
  // as without memory: then no consumer is served any more.
  [[nodiscard]] Status put(const video::Frame& frame);
  // Nobody will ask for frames before this one again; those that a consumer has not had yet are held for it.
  void release(std::int64_t before);
  void cancel();

 private:
  using Bytes = std::shared_ptr<const std::vector<std::byte>>;

  // Somebody who has not yet said what is wanted.
  struct Guest {
    Descriptor socket;
    std::string said;
    std::int64_t since_ns = 0;
  };
  struct Consumer {
    Descriptor socket;
    Bytes sending;  // the header, or a frame; null: all was sent
    bool header_sent = false;
    std::size_t sent = 0;
  };

  OutgoingLink(Options options, Descriptor listener);
  void serve(const std::stop_token& stop);
  void give_up(Error error);
  [[nodiscard]] std::vector<pollfd> waited_for();
  void let_in();
  // False where the guest is to be forgotten: gone, a stranger, or become the consumer.
  [[nodiscard]] bool listen_to(Guest& guest);
  void become_consumer(Guest& guest, std::int64_t from);
  void send();
  [[nodiscard]] bool take_next();
  void lose_consumer();
  void drop();  // with mutex_

  const Options options_;
  Acceptor acceptor_;
  WakeUp wake_;
  std::mutex mutex_;
  std::condition_variable room_;
  std::deque<Bytes> held_;
  std::int64_t first_held_;
  std::int64_t released_;
  std::optional<std::int64_t> consumer_at_;  // the frame that it is to get next
  bool cancelled_ = false;
  std::optional<Error> broken_;  // why nothing is sent any more
  // Of the thread that serves.
  std::list<Guest> guests_;
  std::optional<Consumer> consumer_;
  std::jthread server_;  // the last: it uses all of the above
};

}  // namespace millrace::cluster
