#include "millrace/cluster/live_split/split_hub.h"

#include "millrace/base/error/clock.h"
#include "millrace/base/error/without_exceptions.h"
#include "millrace/base/text/printable.h"
#include "millrace/cluster/live_split/link_words.h"
#include "millrace/cluster/plan/whole_number.h"
#include "millrace/version.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace millrace::cluster {
namespace {

constexpr std::int64_t silence_ns = 10'000'000'000;  // timeout after which a node is lost
constexpr std::int64_t hello_ns = 5'000'000'000;     // timeout for the first message of a new connection
constexpr std::size_t most_strangers = 64;           // connections that have not yet identified themselves
constexpr int look_ms = 500;
constexpr int most_failures = 2;  // of a section, on different nodes
constexpr std::size_t most_reason_bytes = 300;
constexpr std::int64_t farewell_ns = 1'000'000'000;

Error unusable(const std::string& what) { return {ErrorKind::failure, what}; }

}  // namespace

SplitHub::SplitHub(Descriptor listener, Options options)
    : options_(std::move(options)), acceptor_(std::move(listener)) {
  server_ = std::jthread([this](const std::stop_token& stop) {
    const Status served = without_exceptions([&] {
      serve(stop);
      return Status();
    });
    if (!served) fail(served.error());
  });
}

SplitHub::~SplitHub() {
  server_.request_stop();
  wake_.wake();
}

void SplitHub::written(std::int64_t frames) {
  // relaxed: only a number; it publishes nothing.
  written_.store(frames, std::memory_order_relaxed);
  wake_.wake();
}

void SplitHub::end_at(std::int64_t frames) {
  end_.store(frames, std::memory_order_relaxed);
  wake_.wake();
}

void SplitHub::output_trouble(const Endpoint& at, const std::string& why) {
  {
    const std::scoped_lock lock(mutex_);
    output_trouble_.emplace(at, why);
  }
  wake_.wake();
}

std::optional<Error> SplitHub::error() const {
  const std::scoped_lock lock(mutex_);
  return error_;
}

std::vector<PostRecord> SplitHub::posts() const {
  const std::scoped_lock lock(mutex_);
  return records_;
}

void SplitHub::serve(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    std::vector<pollfd> waited = waited_for();
    poll(waited.data(), waited.size(), acceptor_.patience_ms(look_ms, now_ns()));
    wake_.clear();
    let_in();
    for (auto& [id, worker] : workers_)
      listen_to(id, worker);
    take_output_trouble();
    forget_the_gone();
    if (posts_.empty()) divide();
    fill_posts();
    tell_written();
    tell_end();
  }
  tell_all({{"say", "stop"}});
  const std::int64_t until = now_ns() + farewell_ns;
  const auto waiting = [&] {
    return std::ranges::any_of(workers_, [](const auto& each) { return !each.second.channel.all_sent(); });
  };
  while (waiting() && now_ns() < until) {
    std::vector<pollfd> waited = waited_for();
    poll(waited.data(), waited.size(), 20);
    for (auto& [id, worker] : workers_) {
      worker.gone = !worker.channel.move();
      while (worker.channel.next_line()) {
      }
    }
    std::erase_if(workers_, [](const auto& each) { return each.second.gone; });
  }
}

std::vector<pollfd> SplitHub::waited_for() const {
  std::vector<pollfd> waited{{wake_.descriptor(), POLLIN, 0}, acceptor_.waited_for(now_ns())};
  for (const auto& [id, worker] : workers_)
    waited.push_back({worker.channel.descriptor(), worker.channel.events(), 0});
  return waited;
}

// A node identifies itself at once, so it is heard before it might have to make room for others.
void SplitHub::let_in() {
  const auto is_guest = [](const auto& each) { return !each.second.welcome; };
  auto guests = std::ranges::count_if(workers_, is_guest);
  for (std::size_t more = 0; more < most_strangers; ++more) {
    Descriptor socket = acceptor_.next(now_ns());
    if (!socket.is_open()) return;
    if (std::cmp_equal(guests, most_strangers))
      workers_.erase(std::ranges::find_if(workers_, is_guest));
    else
      ++guests;
    const Endpoint end = other_end(socket.get());
    Worker& worker = workers_.try_emplace(next_worker_++, std::move(socket)).first->second;
    worker.end = end;
    worker.heard_ns = now_ns();
  }
}

void SplitHub::listen_to(int id, Worker& worker) {
  const bool there = worker.channel.move();
  while (const auto line = worker.channel.next_line()) {
    if (worker.gone) break;
    worker.heard_ns = now_ns();
    try {
      hear(id, worker, parse_message(*line));
    } catch (const Message::exception&) {
      worker.gone = true;
    } catch (const WrongValue&) {
      worker.gone = true;
    }
  }
  const std::int64_t patience = worker.welcome ? silence_ns : hello_ns;
  if (!there || now_ns() - worker.heard_ns > patience) worker.gone = true;
}

void SplitHub::hear(int id, Worker& worker, const Message& message) {
  if (!worker.welcome) {
    greet(worker, message);
    return;
  }
  const auto say = message.at("say").get<std::string>();
  if (say == "measured" && !worker.ready) {
    message.at("seconds").get_to(worker.seconds);
    worker.ready = worker.seconds.size() == options_.pieces.pieces.size() &&
                   std::ranges::all_of(worker.seconds, [](double s) { return std::isfinite(s) && s > 0; });
    worker.gone = !worker.ready;
    if (worker.ready && !posts_.empty()) note(fmt::format("{} has come, and waits", to_string(worker.end)));
  } else if (say == "failed") {
    failed(worker, message.at("why").get<std::string>());
  } else if (say == "serving" && worker.post && posts_[*worker.post].worker == id) {
    serves(*worker.post, {worker.end.host, port_of(message)});
  } else if (say == "linked" && worker.post) {
    posts_[*worker.post].linked = true;
  } else if (say == "trouble" && worker.post) {
    trouble(*worker.post, {message.at("host").get<std::string>(), port_of(message)},
            message.at("why").get<std::string>());
  }
}

void SplitHub::greet(Worker& worker, const Message& message) {
  const auto refuse = [&](const std::string& why) {
    worker.channel.send_json({{"say", "refused"}, {"why", why}});
    worker.gone = true;
  };
  if (message.at("hello") != split_protocol || message.at("version") != split_protocol_version) {
    refuse("is the head of a live split of another version");
    return;
  }
  if (!is_same_secret(message.at("token").get<std::string>(), options_.token)) {
    refuse("the token is another one; give that of the head by --token-file or MILLRACE_TOKEN");
    return;
  }
  if (message.at("millrace") != MILLRACE_VERSION) {
    refuse(fmt::format("the head has millrace {}, this node {}; all machines of a live split need the same",
                       MILLRACE_VERSION, printable(message.at("millrace").get<std::string>())));
    return;
  }
  worker.welcome = true;
  worker.channel.send_json({{"say", "welcome"}, {"job", options_.job}});
  Message all = Message::array();
  for (const PipelineSection& piece : options_.pieces.pieces)
    all.push_back(to_message(piece));
  worker.channel.send_json(
      {{"say", "measure"}, {"planes", image::name_of(options_.wish.planes)}, {"sections", std::move(all)}});
}

void SplitHub::serves(std::size_t post, const Endpoint& at) {
  posts_[post].at = at;
  if (post + 1 < posts_.size())
    tell_producer(post + 1);
  else
    options_.on_output(at);
}

void SplitHub::failed(Worker& worker, const std::string& why) {
  worker.gone = true;
  const std::string said =
      fmt::format("{}: {}", to_string(worker.end), printable(why.substr(0, most_reason_bytes)));
  note(said);
  if (!worker.post && !posts_.empty()) return;  // another node does the work
  Failures& failures = worker.post ? posts_[*worker.post].failures : failures_;
  if (told_written_ > failures.written) failures = {.written = told_written_};
  if (++failures.count >= most_failures) fail(unusable(said));
}

void SplitHub::trouble(std::size_t consumer, const Endpoint& producer, const std::string& why) {
  if (consumer == 0) {  // the head's frames are always right
    failed(workers_.at(*posts_[0].worker), fmt::format("has no frames from the head: {}", why));
    return;
  }
  const Post& post = posts_[consumer - 1];
  if (post.worker && post.at == producer) failed(workers_.at(*post.worker), why);
}

void SplitHub::take_output_trouble() {
  std::optional<std::pair<Endpoint, std::string>> told;
  {
    const std::scoped_lock lock(mutex_);
    told = std::exchange(output_trouble_, std::nullopt);
  }
  if (told && !posts_.empty()) trouble(posts_.size(), told->first, told->second);
}

void SplitHub::forget_the_gone() {
  for (auto each = workers_.begin(); each != workers_.end();) {
    if (!each->second.gone) {
      ++each;
      continue;
    }
    lose(each->second);
    each = workers_.erase(each);
  }
}

void SplitHub::lose(Worker& worker) {
  if (!worker.post) return;
  Post& post = posts_[*worker.post];
  post.worker.reset();
  post.at.reset();
  post.linked = false;
  post.vacant_ns = now_ns();
  replaced_.fetch_add(1, std::memory_order_relaxed);
  note(fmt::format("{} is lost after {} written frames; {} takes its place", to_string(worker.end),
                   written_.load(std::memory_order_relaxed),
                   ready_workers().empty() ? "the next that comes" : "another"));
}

// The idle ones.
std::vector<int> SplitHub::ready_workers() const {
  std::vector<int> ready;
  for (const auto& [id, worker] : workers_)
    if (worker.ready && !worker.gone && !worker.post) ready.push_back(id);
  return ready;
}

void SplitHub::divide() {
  const std::vector<int> ready = ready_workers();
  if (std::ssize(ready) < options_.nodes || ready.empty()) return;
  std::vector<std::vector<double>> seconds;
  for (const int id : ready)
    seconds.push_back(workers_.at(id).seconds);
  auto divided = cluster::divide(options_.wish, options_.pieces, seconds);
  if (!divided) {
    fail(divided.error());
    return;
  }
  std::string text = fmt::format("{} section{}, {:.1f} frames a second expected", divided->sections.size(),
                                 divided->sections.size() == 1 ? "" : "s", divided->rate);
  if (options_.wish.rate > 0) text += fmt::format(" of {:g} wanted", options_.wish.rate);
  for (DividedSection& each : divided->sections) {
    Post post{.work = std::move(each), .vacant_ns = now_ns()};
    post.record.pipeline = image::to_string(post.work.section.pipeline);
    post.record.seconds = post.work.seconds;
    text += fmt::format("; {} on {}: {:.2f} ms", printable(post.record.pipeline),
                        to_string(workers_.at(ready[post.work.node]).end), post.record.seconds * 1e3);
    posts_.push_back(std::move(post));
  }
  note(text);
  for (std::size_t i = 0; i < posts_.size(); ++i)
    assign(i, ready[posts_[i].work.node]);
}

void SplitHub::fill_posts() {
  for (std::size_t i = 0; i < posts_.size(); ++i) {
    if (posts_[i].worker) continue;
    if (const std::vector<int> ready = ready_workers(); !ready.empty()) {
      assign(i, ready.front());
      note(fmt::format("{} goes on with {} from frame {} on", to_string(workers_.at(ready.front()).end),
                       printable(posts_[i].record.pipeline), told_written_));
    } else if (static_cast<double>(now_ns() - posts_[i].vacant_ns) > options_.patience * 1e9) {
      fail(unusable(
          fmt::format("no node has come within {:g} s for the one that was lost; start more of them than "
                      "the live split needs",
                      options_.patience)));
    }
  }
}

void SplitHub::assign(std::size_t number, int id) {
  Post& post = posts_[number];
  Worker& worker = workers_.at(id);
  post.worker = id;
  worker.post = number;
  post.record.nodes.push_back(to_string(worker.end));
  const DividedSection& work = post.work;
  worker.channel.send_json(to_message(Assignment{.first = static_cast<int>(work.first),
                                                 .end = static_cast<int>(work.end),
                                                 .pipeline = post.record.pipeline,
                                                 .planes = std::string(image::name_of(options_.wish.planes)),
                                                 .input = work.section.input,
                                                 .output = work.section.output,
                                                 .start = told_written_,
                                                 .before = work.section.neighbours.before,
                                                 .after = work.section.neighbours.after,
                                                 .beyond = work.beyond,
                                                 .window = options_.window}));
  if (told_end_) worker.channel.send_json({{"say", "end"}, {"frames", end_.load(std::memory_order_relaxed)}});
  tell_producer(number);
  const std::scoped_lock lock(mutex_);
  records_.clear();
  for (const Post& each : posts_)
    records_.push_back(each.record);
}

// Tells the node of a section the address of the previous section's output.
void SplitHub::tell_producer(std::size_t number) {
  const Post& post = posts_[number];
  if (!post.worker) return;
  LineChannel& channel = workers_.at(*post.worker).channel;
  if (number == 0)
    channel.send_json({{"say", "producer"}, {"host", ""}, {"port", options_.source_port}});
  else if (const auto& at = posts_[number - 1].at)
    channel.send_json({{"say", "producer"}, {"host", at->host}, {"port", at->port}});
}

void SplitHub::tell_written() {
  const std::int64_t frames = written_.load(std::memory_order_relaxed);
  if (frames == told_written_ || posts_.empty() ||
      !std::ranges::all_of(posts_, [](const Post& post) { return post.worker && post.linked; }))
    return;
  told_written_ = frames;
  tell_all({{"say", "written"}, {"frames", frames}});
  options_.on_written(frames);
}

void SplitHub::tell_end() {
  const std::int64_t frames = end_.load(std::memory_order_relaxed);
  if (frames < 0 || told_end_) return;
  told_end_ = true;
  tell_all({{"say", "end"}, {"frames", frames}});
}

void SplitHub::tell_all(const Message& message) {
  for (auto& [id, worker] : workers_)
    if (worker.welcome && !worker.gone) worker.channel.send_json(message);
}

void SplitHub::fail(Error error) {
  {
    const std::scoped_lock lock(mutex_);
    if (error_) return;
    error_ = std::move(error);
  }
  options_.on_failure();
}

void SplitHub::note(const std::string& text) const {
  if (options_.on_note) options_.on_note(text);
}

}  // namespace millrace::cluster
