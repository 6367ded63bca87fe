// SplitHub: assigns the sections of a live split to nodes and replaces lost nodes.
#pragma once

#include "millrace/base/descriptor/descriptor.h"
#include "millrace/base/error/result.h"
#include "millrace/base/socket/acceptor.h"
#include "millrace/base/socket/line_channel.h"
#include "millrace/cluster/live_split/endpoint.h"
#include "millrace/cluster/live_split/split_division.h"
#include "millrace/cluster/live_split/split_messages.h"
#include "millrace/cluster/live_split/wake_up.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <poll.h>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace millrace::cluster {

// The history of a section.
struct PostRecord {
  std::string pipeline;
  double seconds = 0;              // per frame, as measured by its first node
  std::vector<std::string> nodes;  // all nodes that ran it, in order
};

// Listens for nodes on a thread of its own. When enough have connected, it divides the pipeline among them.
// Later nodes are spares for lost ones.
//
// For filters that read neighbouring frames, the first and the last frame of the video are repeated. The head
// sends these repetitions, as many as all sections together read beyond the ends, so that no section has to
// know where the video ends. From input frames n to n + before + after, a section makes its frame n. So the
// repeated frames are used up exactly by the sections, and exactly the video's frames come out at the end.
// Therefore, once n frames are written, no section needs frames before n.
//
// A node that takes over a section begins with the first frame that is not yet written. Until it has its
// input, the hub reports no further progress of writing to the nodes, so that the frames it requests are
// still held.
class SplitHub {
 public:
  struct Options {
    std::string job;
    std::string token;
    int nodes = 1;  // number of nodes to wait for
    SplitWish wish;
    SplitPieces pieces;  // of the wish
    std::int64_t window = 16;
    double patience = 60;  // seconds to wait for the replacement of a lost node
    int source_port = 0;   // port of the link that the first section reads
    // Called by the hub's thread:
    std::function<void(const Endpoint&)> on_output;  // the address of the last section's frames
    std::function<void(std::int64_t)> on_written;    // frames before this number will not be requested again
    std::function<void()> on_failure;                // error() has the reason
    std::function<void(const std::string&)> on_note;
  };

  SplitHub(Descriptor listener, Options options);
  // Tells the nodes that the work is done.
  ~SplitHub();
  SplitHub(const SplitHub&) = delete;
  SplitHub& operator=(const SplitHub&) = delete;

  // Any thread: the number of frames written so far, and the total number.
  void written(std::int64_t frames);
  void end_at(std::int64_t frames);
  // Any thread: the last section's frames are not available at that address.
  void output_trouble(const Endpoint& at, const std::string& why);
  [[nodiscard]] std::optional<Error> error() const;
  [[nodiscard]] std::vector<PostRecord> posts() const;
  [[nodiscard]] int replaced() const { return replaced_.load(std::memory_order_relaxed); }

 private:
  struct Worker {
    explicit Worker(Descriptor socket) : channel(std::move(socket)) {}
    LineChannel channel;
    Endpoint end;
    bool welcome = false;
    bool ready = false;  // has measured
    bool gone = false;
    std::vector<double> seconds;
    std::optional<std::size_t> post;
    std::int64_t heard_ns = 0;
  };
  // Consecutive failures without a frame written in between.
  struct Failures {
    int count = 0;
    std::int64_t written = 0;
  };
  // A section to be run.
  struct Post {
    DividedSection work;
    std::optional<int> worker;
    std::optional<Endpoint> at;  // address of its output
    bool linked = false;
    Failures failures;
    std::int64_t vacant_ns = 0;
    PostRecord record;
  };

  void serve(const std::stop_token& stop);
  [[nodiscard]] std::vector<pollfd> waited_for() const;
  void let_in();
  void listen_to(int id, Worker& worker);
  void hear(int id, Worker& worker, const Message& message);
  void greet(Worker& worker, const Message& message);
  void serves(std::size_t post, const Endpoint& at);
  void failed(Worker& worker, const std::string& why);
  // Trouble with the output of the previous section. consumer: the receiving post, or the number of posts for
  // the head.
  void trouble(std::size_t consumer, const Endpoint& producer, const std::string& why);
  void take_output_trouble();
  void forget_the_gone();
  void lose(Worker& worker);
  void divide();
  [[nodiscard]] std::vector<int> ready_workers() const;
  void fill_posts();
  void assign(std::size_t post, int worker);
  void tell_producer(std::size_t post);
  void tell_written();
  void tell_end();
  void tell_all(const Message& message);
  void fail(Error error);
  void note(const std::string& text) const;

  const Options options_;
  Acceptor acceptor_;
  WakeUp wake_;
  std::atomic<std::int64_t> written_ = 0;
  std::atomic<std::int64_t> end_ = -1;
  std::atomic<int> replaced_ = 0;
  mutable std::mutex mutex_;  // guards the following members
  std::optional<Error> error_;
  std::vector<PostRecord> records_;
  std::optional<std::pair<Endpoint, std::string>> output_trouble_;
  // Used by the hub's thread.
  std::map<int, Worker> workers_;
  int next_worker_ = 0;
  std::vector<Post> posts_;
  Failures failures_;  // of nodes without a post
  std::int64_t told_written_ = 0;
  bool told_end_ = false;
  std::jthread server_;  // declared last, because it uses all of the above
};

}  // namespace millrace::cluster
