// OutgoingLink: serves frames to the next section, and again to the node that replaces it.
#pragma once

#include "millrace/base/descriptor/descriptor.h"
#include "millrace/base/error/result.h"
#include "millrace/base/socket/acceptor.h"
#include "millrace/base/socket/line_channel.h"
#include "millrace/cluster/live_split/endpoint.h"
#include "millrace/cluster/live_split/wake_up.h"
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

// Listens for a consumer and sends it frames as y4m from the requested one on. Frames are held until they are
// released, so that another consumer can get them again if the first is lost. The latest consumer replaces an
// earlier one. Connections without the right job and token get nothing.
//
// put() is called by one thread and waits while `window` frames are held. Any thread may call release() and
// cancel().
class OutgoingLink {
 public:
  struct Options {
    Endpoint address;  // the only address to listen at; port 0: any free port
    std::string job;
    std::string token;
    int place = 0;  // number of stages that its frames have passed
    video::FrameFormat format;
    std::int64_t first = 0;                          // number of the first frame passed to put()
    std::int64_t window = 16;                        // frames, at least 1
    std::int64_t guest_patience_ns = 5'000'000'000;  // for a connection's request
  };

  [[nodiscard]] static Result<std::unique_ptr<OutgoingLink>> open(Options options);
  ~OutgoingLink();
  OutgoingLink(const OutgoingLink&) = delete;
  OutgoingLink& operator=(const OutgoingLink&) = delete;

  [[nodiscard]] int port() const { return port_; }

  // Adds the next frame. Interrupted if cancelled. Fails if the sending thread had to give up, for example
  // for lack of memory. Then no consumer is served any longer.
  [[nodiscard]] Status put(const video::Frame& frame);
  // Frames before this one will not be requested again. Those that a consumer has not yet received stay held.
  void release(std::int64_t before);
  void cancel();

 private:
  using Bytes = std::shared_ptr<const std::vector<std::byte>>;

  // A connection that has not yet sent a request.
  struct Guest {
    LineChannel channel;
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
  // False if the guest is to be removed: gone, rejected, or now the consumer.
  [[nodiscard]] bool listen_to(Guest& guest);
  void become_consumer(Guest& guest, std::int64_t from);
  void send();
  [[nodiscard]] bool take_next();
  void lose_consumer();
  void drop();  // requires mutex_

  const Options options_;
  const int port_;
  Acceptor acceptor_;
  WakeUp wake_;
  std::mutex mutex_;
  std::condition_variable room_;
  std::deque<Bytes> held_;
  std::int64_t first_held_;
  std::int64_t released_;
  std::optional<std::int64_t> consumer_at_;  // the next frame it is to get
  bool cancelled_ = false;
  std::optional<Error> broken_;  // why nothing is sent any longer
  // Used by the serving thread.
  std::list<Guest> guests_;
  std::optional<Consumer> consumer_;
  std::jthread server_;  // declared last, because it uses all of the above
};

}  // namespace millrace::cluster
