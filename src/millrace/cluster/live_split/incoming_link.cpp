#include "millrace/cluster/live_split/incoming_link.h"

#include "millrace/base/error/clock.h"
#include "millrace/base/text/in_quotes.h"
#include "millrace/cluster/live_split/link_words.h"
#include "millrace/video/y4m/y4m_frame.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <poll.h>
#include <span>
#include <string_view>
#include <utility>

#include <sys/socket.h>

namespace millrace::cluster {
namespace {

constexpr std::size_t most_header_bytes = 1024;
constexpr int connect_ms = 3000;
constexpr int reconnect_rest_ms = 50;  // before another attempt

}  // namespace

IncomingLink::IncomingLink(Options options)
    : options_(std::move(options)), frame_bytes_(video::y4m_frame_bytes(options_.format)),
      pool_(options_.format), received_(std::max(frame_bytes_, most_header_bytes)), next_(options_.first) {}

void IncomingLink::set_producer(const Endpoint& producer) {
  {
    const std::scoped_lock lock(mutex_);
    producer_ = producer;
    changed_ = true;
  }
  wake_.wake();
}

void IncomingLink::end_at(std::int64_t frames) {
  {
    const std::scoped_lock lock(mutex_);
    end_ = frames;
  }
  wake_.wake();
}

void IncomingLink::cancel() {
  {
    const std::scoped_lock lock(mutex_);
    cancelled_ = true;
  }
  wake_.wake();
}

IncomingLink::Step IncomingLink::look() {
  wake_.clear();
  const std::scoped_lock lock(mutex_);
  if (cancelled_) return Step::cancelled;
  if (end_ && next_ >= *end_) return Step::ended;
  if (std::exchange(changed_, false)) {
    at_ = producer_;
    disconnect();
    unanswered_ns_ = now_ns();
  }
  return Step::again;
}

Result<std::optional<video::Frame>> IncomingLink::next() {
  while (true) {
    const Step step = look();
    if (step == Step::ended) return std::nullopt;
    if (step == Step::cancelled) return std::unexpected(Error{ErrorKind::interrupted, "reading was stopped"});
    if (!at_) {
      wait_for(0, -1);
      continue;
    }
    if (!header_taken_ && now_ns() - unanswered_ns_ > options_.unreachable_ns) {
      give_up("does not answer; can all nodes reach each other, whatever the port?");
      continue;
    }
    if (!socket_.is_open()) {
      connect();
      if (!socket_.is_open()) wait_for(0, reconnect_rest_ms);
      continue;
    }
    if (connecting_) {
      send_request();
      continue;
    }
    if (!receive() || !take()) continue;
    auto frame = pool_.acquire();
    if (!frame) return std::unexpected(frame.error());
    if (!video::unpack_y4m_frame(std::span(received_).first(frame_bytes_), *frame)) {
      give_up(fmt::format("frame {} is none of {}", next_, video::to_string(options_.format)));
      continue;
    }
    filled_ = 0;
    frame->index = next_++;
    return std::optional(std::move(*frame));
  }
}

void IncomingLink::connect() {
  auto begun = begin_to_connect(*at_, attempt_++);
  if (!begun) return;
  socket_ = *std::move(begun);
  connecting_ = true;
  filled_ = 0;
}

void IncomingLink::disconnect() {
  socket_ = Descriptor();
  connecting_ = false;
  if (std::exchange(header_taken_, false)) unanswered_ns_ = now_ns();
}

void IncomingLink::give_up(const std::string& why) {
  const Endpoint producer = *at_;
  disconnect();
  at_.reset();
  if (options_.on_trouble) options_.on_trouble(producer, why);
}

void IncomingLink::send_request() {
  pollfd waited[2] = {{socket_.get(), POLLOUT, 0}, {wake_.descriptor(), POLLIN, 0}};
  const int ready = poll(waited, 2, connect_ms);
  if (waited[1].revents != 0) return;
  const std::string line = to_line({options_.job, options_.token, options_.place, next_});
  // A line always fits the buffer of a new socket.
  if (ready <= 0 || !connected(socket_.get()) ||
      ::send(socket_.get(), line.data(), line.size(), MSG_NOSIGNAL | MSG_DONTWAIT) != std::ssize(line)) {
    disconnect();
    wait_for(0, reconnect_rest_ms);
    return;
  }
  connecting_ = false;
}

bool IncomingLink::receive() {
  // Reads no further than the header line, whose length is unknown, or the frame.
  const std::size_t most = header_taken_ ? frame_bytes_ : filled_ + 1;
  const ssize_t count = recv(socket_.get(), received_.data() + filled_,
                             std::min(most, received_.size()) - filled_, MSG_DONTWAIT);
  if (count > 0) {
    filled_ += static_cast<std::size_t>(count);
    return true;
  }
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) {
    const std::int64_t left_ns = unanswered_ns_ + options_.unreachable_ns - now_ns();
    wait_for(POLLIN,
             header_taken_ ? -1 : static_cast<int>(std::max<std::int64_t>(0, left_ns) / 1'000'000 + 1));
    return false;
  }
  disconnect();
  wait_for(0, reconnect_rest_ms);
  return false;
}

bool IncomingLink::take() {
  if (header_taken_) return filled_ == frame_bytes_;
  if (received_[filled_ - 1] == std::byte{'\n'} || filled_ == most_header_bytes) take_header();
  return false;
}

void IncomingLink::take_header() {
  const std::string_view line(reinterpret_cast<const char*>(received_.data()), filled_);
  if (line != link_header(options_.format)) {
    give_up(fmt::format("sends {}, not {}", in_quotes(line), video::to_string(options_.format)));
    return;
  }
  filled_ = 0;
  header_taken_ = true;
  if (options_.on_linked) options_.on_linked();
}

void IncomingLink::wait_for(short events, int most_ms) const {
  pollfd waited[2] = {{events != 0 ? socket_.get() : -1, events, 0}, {wake_.descriptor(), POLLIN, 0}};
  poll(waited, 2, most_ms);
}

}  // namespace millrace::cluster
