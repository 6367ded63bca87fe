#include "millrace/cluster/live_split/outgoing_link.h"

#include "millrace/base/error/clock.h"
#include "millrace/base/error/without_exceptions.h"
#include "millrace/cluster/live_split/link_words.h"
#include "millrace/video/y4m/y4m_frame.h"

#include <algorithm>
#include <cerrno>
#include <span>
#include <utility>

#include <sys/socket.h>

namespace millrace::cluster {
namespace {

constexpr std::size_t most_guests = 64;
constexpr int look_at_guests_ms = 1000;

bool would_wait() { return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR; }

}  // namespace

Result<std::unique_ptr<OutgoingLink>> OutgoingLink::open(Options options) {
  auto listener = listen_at_endpoint(options.address);
  if (!listener) return std::unexpected(listener.error());
  return std::unique_ptr<OutgoingLink>(new OutgoingLink(std::move(options), *std::move(listener)));
}

OutgoingLink::OutgoingLink(Options options, Descriptor listener)
    : options_(std::move(options)), port_(own_end(listener.get()).port), acceptor_(std::move(listener)),
      first_held_(options_.first), released_(options_.first), server_([this](const std::stop_token& stop) {
        const Status served = without_exceptions([&] {
          serve(stop);
          return Status();
        });
        if (!served) give_up(served.error());
      }) {}

OutgoingLink::~OutgoingLink() {
  server_.request_stop();
  wake_.wake();
}

Status OutgoingLink::put(const video::Frame& frame) {
  auto bytes = std::make_shared<std::vector<std::byte>>();
  video::pack_y4m_frame(frame, *bytes);
  {
    std::unique_lock lock(mutex_);
    room_.wait(lock, [&] { return cancelled_ || broken_ || std::ssize(held_) < options_.window; });
    if (broken_) return std::unexpected(*broken_);
    if (cancelled_) return std::unexpected(Error{ErrorKind::interrupted, "sending was stopped"});
    held_.push_back(std::move(bytes));
    drop();  // for a link that replaces a lost one: drop frames released before they were put
  }
  wake_.wake();
  return {};
}

void OutgoingLink::release(std::int64_t before) {
  {
    const std::scoped_lock lock(mutex_);
    released_ = std::max(released_, before);
    drop();
  }
  room_.notify_one();
}

void OutgoingLink::cancel() {
  {
    const std::scoped_lock lock(mutex_);
    cancelled_ = true;
  }
  room_.notify_all();
}

// Consumers notice that it is gone, and the head replaces this node.
void OutgoingLink::give_up(Error error) {
  guests_.clear();
  consumer_.reset();
  acceptor_.listen_on({});
  {
    const std::scoped_lock lock(mutex_);
    broken_ = std::move(error);
  }
  room_.notify_all();
}

void OutgoingLink::drop() {
  const std::int64_t before = std::min(released_, consumer_at_.value_or(released_));
  for (; first_held_ < before && !held_.empty(); ++first_held_)
    held_.pop_front();
}

void OutgoingLink::serve(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    std::vector<pollfd> waited = waited_for();
    poll(waited.data(), waited.size(),
         acceptor_.patience_ms(guests_.empty() ? -1 : look_at_guests_ms, now_ns()));
    wake_.clear();
    if (stop.stop_requested()) return;
    // Consumers send nothing after their request, so readability means that they have gone.
    if (consumer_ && (waited[2].revents & (POLLIN | POLLHUP | POLLERR)) != 0) lose_consumer();
    if (consumer_) send();
    let_in();
    for (auto guest = guests_.begin(); guest != guests_.end();)
      guest = listen_to(*guest) ? std::next(guest) : guests_.erase(guest);
  }
}

std::vector<pollfd> OutgoingLink::waited_for() {
  const bool more = consumer_ && (consumer_->sending != nullptr || take_next());
  std::vector<pollfd> waited{
      {wake_.descriptor(), POLLIN, 0},
      acceptor_.waited_for(now_ns()),
      {consumer_ ? consumer_->socket.get() : -1, static_cast<short>(more ? POLLIN | POLLOUT : POLLIN), 0}};
  for (const Guest& guest : guests_)
    waited.push_back({guest.channel.descriptor(), POLLIN, 0});
  return waited;
}

// A consumer sends its request at once, so it is heard before it might have to make room for others.
void OutgoingLink::let_in() {
  for (std::size_t more = 0; more < most_guests; ++more) {
    Descriptor socket = acceptor_.next(now_ns());
    if (!socket.is_open()) return;
    if (guests_.size() == most_guests) guests_.pop_front();
    guests_.push_back({LineChannel(std::move(socket), {.line_bytes = most_request_bytes}), now_ns()});
  }
}

bool OutgoingLink::listen_to(Guest& guest) {
  if (!guest.channel.move()) return false;
  const auto line = guest.channel.next_line();
  if (!line) return now_ns() - guest.since_ns < options_.guest_patience_ns;
  const auto request = parse_link_request(*line);
  if (request && is_same_secret(request->token, options_.token) && request->job == options_.job &&
      request->place == options_.place)
    become_consumer(guest, request->from);
  return false;
}

void OutgoingLink::become_consumer(Guest& guest, std::int64_t from) {
  {
    const std::scoped_lock lock(mutex_);
    if (from < first_held_) return;  // no longer held: the request is too late
    consumer_at_ = from;
  }
  const std::string header = link_header(options_.format);
  const auto bytes = std::as_bytes(std::span(header));
  consumer_ = Consumer{std::move(guest.channel).take_socket(),
                       std::make_shared<std::vector<std::byte>>(bytes.begin(), bytes.end())};
  send();
}

bool OutgoingLink::take_next() {
  const std::scoped_lock lock(mutex_);
  const std::int64_t place = *consumer_at_ - first_held_;
  if (place < 0 || place >= std::ssize(held_)) return false;
  consumer_->sending = held_[static_cast<std::size_t>(place)];
  consumer_->sent = 0;
  return true;
}

void OutgoingLink::send() {
  while (consumer_->sending != nullptr || take_next()) {
    const auto rest = std::span(*consumer_->sending).subspan(consumer_->sent);
    const ssize_t count =
        ::send(consumer_->socket.get(), rest.data(), rest.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count < 0 && would_wait()) return;
    if (count < 0) {
      lose_consumer();
      return;
    }
    consumer_->sent += static_cast<std::size_t>(count);
    if (consumer_->sent < consumer_->sending->size()) continue;
    const bool was_frame = consumer_->header_sent;
    consumer_->header_sent = true;
    consumer_->sending = nullptr;
    if (!was_frame) continue;
    {
      const std::scoped_lock lock(mutex_);
      ++*consumer_at_;
      drop();
    }
    room_.notify_one();
  }
}

void OutgoingLink::lose_consumer() {
  consumer_.reset();
  {
    const std::scoped_lock lock(mutex_);
    consumer_at_.reset();
    drop();
  }
  room_.notify_one();
}

}  // namespace millrace::cluster
