// CutHub: who does which section of a cut, and who takes the place of whom.
#pragma once

#include "millrace/base/descriptor.h"
#include "millrace/base/result.h"
#include "millrace/cluster/cut/acceptor.h"
#include "millrace/cluster/cut/cut_division.h"
#include "millrace/cluster/cut/cut_messages.h"
#include "millrace/cluster/cut/endpoint.h"
#include "millrace/cluster/cut/line_channel.h"
#include "millrace/cluster/cut/wake_up.h"

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

// What became of a section.
struct PostRecord {
  std::string pipeline;
  double seconds = 0;              // of a frame, as the first of its nodes measured
  std::vector<std::string> nodes;  // that have done it, one after the other
};

// Listens to nodes in a thread of its own. Once there are as many as asked for, it divides the pipeline among
// them; those that come later wait for one to be lost.
//
// Before the first frame of the video and after the last one it stands still for filters that read
// neighbouring frames. The head sends those two again, as often as all sections together read beyond, so that
// no section has to know where the video ends: of the frames n to n + before + after that come to it, it
// makes its frame n, and where as many frames go in as sections behind it read beyond, and those of the
// video, just the others come out. So nobody needs frames before n any more, wherever in the cut, once n are
// written.
//
// A node that takes a section over begins with the first frame that was not written by then. Until it has its
// input, nobody is told of more that is written, so that what it asks for is still there.
class CutHub {
 public:
  struct Options {
    std::string job;
    std::string token;
    int nodes = 1;  // that it waits for
    CutWish wish;
    CutPieces pieces;  // of the wish
    std::int64_t window = 16;
    double patience = 60;  // seconds in which another must come for one that is lost
    int source_port = 0;   // of the link that the first section reads
    // By the thread of the hub:
    std::function<void(const Endpoint&)> on_output;  // where the last section's frames are to be had
    std::function<void(std::int64_t)> on_written;    // so many frames are not asked for again by anybody
    std::function<void()> on_failure;                // error() says why
    std::function<void(const std::string&)> on_note;
  };

  CutHub(Descriptor listener, Options options);
  // Nodes are told that all is done.
  ~CutHub();
  CutHub(const CutHub&) = delete;
  CutHub& operator=(const CutHub&) = delete;

  // Any thread: so many frames are written, and so many there are.
  void written(std::int64_t frames);
  void end_at(std::int64_t frames);
  // Any thread: the last section's frames cannot be had there.
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
  // One behind the other, with nothing written between.
  struct Failures {
    int count = 0;
    std::int64_t written = 0;
  };
  // A section to be done.
  struct Post {
    DividedSection work;
    std::optional<int> worker;
    std::optional<Endpoint> at;  // where its output is to be had
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
  // With what the section before makes; consumer: the post that it comes to, or their number, for the head.
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
  mutable std::mutex mutex_;  // over what follows
  std::optional<Error> error_;
  std::vector<PostRecord> records_;
  std::optional<std::pair<Endpoint, std::string>> output_trouble_;
  // Of the hub's thread.
  std::map<int, Worker> workers_;
  int next_worker_ = 0;
  std::vector<Post> posts_;
  Failures failures_;  // of nodes without a post
  std::int64_t told_written_ = 0;
  bool told_end_ = false;
  std::jthread server_;  // the last: it uses all of the above
};

}  // namespace millrace::cluster
