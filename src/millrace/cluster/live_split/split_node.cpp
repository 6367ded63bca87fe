#include "millrace/cluster/live_split/split_node.h"

#include "millrace/base/error/clock.h"
#include "millrace/base/error/without_exceptions.h"
#include "millrace/base/socket/line_channel.h"
#include "millrace/base/text/printable.h"
#include "millrace/cluster/live_split/section_run.h"
#include "millrace/cluster/live_split/wake_up.h"
#include "millrace/cluster/plan/whole_number.h"
#include "millrace/version.h"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <poll.h>
#include <thread>
#include <utility>

namespace millrace::cluster {
namespace {

constexpr std::int64_t say_here_ns = 1'000'000'000;
constexpr int head_rest_ms = 100;  // before another attempt
constexpr std::int64_t connect_ns = 3'000'000'000;

// One thread listens to the head, while the thread of the execution context runs the tasks.
class SplitNode {
 public:
  [[nodiscard]] static Status interrupted() {
    return std::unexpected(Error{ErrorKind::interrupted, "interrupted"});
  }

  SplitNode(run::ExecutionContext& context, const SplitNodeOptions& options)
      : context_(context), options_(options), on_stop_(options.stop, [this] { leave(interrupted()); }) {}
  ~SplitNode() {
    listener_.request_stop();
    wake_.wake();
  }

  [[nodiscard]] Status serve() {
    if (Status there = connect(); !there) return there;
    channel_->send_json({{"hello", split_protocol},
                         {"version", split_protocol_version},
                         {"millrace", MILLRACE_VERSION},
                         {"token", options_.token},
                         {"threads", context_.threads()}});
    listener_ = std::jthread([this](const std::stop_token& stop) {
      Status listened = without_exceptions([&] {
        listen(stop);
        return Status();
      });
      if (!listened) leave(std::move(listened));
    });
    while (auto task = next_task())
      act(*task);
    const std::scoped_lock lock(mutex_);
    return *outcome_;
  }

 private:
  [[nodiscard]] Status connect() {
    const std::int64_t until = now_ns() + static_cast<std::int64_t>(options_.patience * 1e9);
    for (std::size_t attempt = 0;;) {
      auto socket = begin_to_connect(options_.head, attempt++);
      Status there;
      if (!socket) {
        there = std::unexpected(socket.error());
      } else {
        pollfd waited[2] = {{socket->get(), POLLOUT, 0}, {wake_.descriptor(), POLLIN, 0}};
        const std::int64_t left = std::max<std::int64_t>(0, until - now_ns());
        // Another address of the head's name may answer.
        poll(waited, 2,
             static_cast<int>((options_.stay ? connect_ns : std::min(connect_ns, left)) / 1'000'000));
        there = connected(socket->get());
        if (there && waited[0].revents == 0) there = failure("no answer");
      }
      if (options_.stop.stop_requested()) return interrupted();
      if (there) {
        host_ = own_end(socket->get()).host;
        channel_.emplace(*std::move(socket));
        return {};
      }
      if (now_ns() >= until && !options_.stay)
        return failure("no live split listens at {} ({}); start one with millrace split",
                       to_string(options_.head), there.error().message);
      pollfd waited{wake_.descriptor(), POLLIN, 0};
      poll(&waited, 1, head_rest_ms);
    }
  }

  // Called by the thread of the execution context.

  [[nodiscard]] std::optional<Message> next_task() {
    std::unique_lock lock(mutex_);
    there_is_.wait(lock, [&] { return outcome_ || !tasks_.empty(); });
    if (outcome_) return std::nullopt;
    Message task = std::move(tasks_.front());
    tasks_.pop_front();
    return task;
  }

  void act(const Message& task) {
    if (task.at("say") == "measure") {
      measure(task);
      return;
    }
    std::shared_ptr<SectionRun> run;
    {
      const std::scoped_lock lock(mutex_);
      run = run_;
    }
    const Status done = run->run(context_);
    const std::scoped_lock lock(mutex_);
    if (!done && !outcome_) say_next({{"say", "failed"}, {"why", done.error().message}});
  }

  void measure(const Message& task) {
    Message seconds = Message::array();
    try {
      const auto planes = image::parse_planes(task.at("planes").get<std::string>());
      for (const Message& section : task.at("sections")) {
        const auto measured = measure_section(
            context_, section.at("pipeline").get<std::string>(), planes.value_or(image::Planes::automatic),
            format_from(section.at("input")), format_from(section.at("output")).forms, options_.stop);
        if (!measured) {
          say({{"say", "failed"}, {"why", measured.error().message}});
          return;
        }
        seconds.push_back(*measured);
      }
    } catch (const Message::exception&) {
      leave(damaged());
      return;
    } catch (const WrongValue&) {
      leave(damaged());
      return;
    }
    say({{"say", "measured"}, {"seconds", std::move(seconds)}});
  }

  // Any thread.

  void say(Message message) {
    const std::scoped_lock lock(mutex_);
    say_next(std::move(message));
  }
  void say_next(Message message) {  // requires mutex_
    to_say_.push_back(std::move(message));
    wake_.wake();
  }

  void leave(Status outcome) {
    std::shared_ptr<SectionRun> run;
    {
      const std::scoped_lock lock(mutex_);
      if (!outcome_) outcome_ = std::move(outcome);
      run = run_;
    }
    if (run) run->stop();
    there_is_.notify_all();
    wake_.wake();
  }

  [[nodiscard]] Status damaged() const {
    return failure("{}: says what cannot be understood; is it a head of this version?",
                   to_string(options_.head));
  }

  // Runs on the listening thread.

  void listen(const std::stop_token& stop) {
    std::int64_t said_here_ns = now_ns();
    while (!stop.stop_requested()) {
      pollfd waited[2] = {{wake_.descriptor(), POLLIN, 0}, {channel_->descriptor(), channel_->events(), 0}};
      poll(waited, 2, static_cast<int>(say_here_ns / 1'000'000));
      wake_.clear();
      if (now_ns() - said_here_ns >= say_here_ns) {
        said_here_ns = now_ns();
        say({{"say", "here"}});
      }
      {
        const std::scoped_lock lock(mutex_);
        for (; !to_say_.empty(); to_say_.pop_front())
          channel_->send_json(to_say_.front());
      }
      const bool there = channel_->move();
      while (const auto line = channel_->next_line()) {
        try {
          hear(parse_message(*line));
        } catch (const Message::exception&) {
          leave(damaged());
        } catch (const WrongValue&) {
          leave(damaged());
        }
      }
      if (!there) {
        leave(failure("{}: the head is lost", to_string(options_.head)));
        return;
      }
    }
  }

  void hear(const Message& message) {
    const std::string say_word = message.at("say").get<std::string>();
    if (say_word == "welcome") {
      message.at("job").get_to(job_);
    } else if (say_word == "refused") {
      leave(usage_error("{}: {}", to_string(options_.head), printable(message.at("why").get<std::string>())));
    } else if (say_word == "stop") {
      leave({});
    } else if (say_word == "measure") {
      add_task(message);
    } else if (say_word == "section") {
      begin(assignment_from(message));
    } else if (run_) {
      if (say_word == "producer") {
        const auto host = message.at("host").get<std::string>();
        run_->set_producer({host.empty() ? options_.head.host : host, port_of(message)});
      }
      if (say_word == "written") run_->written(frames_of(message));
      if (say_word == "end") run_->end_at(frames_of(message));
    }
  }

  void begin(const Assignment& assignment) {
    auto run = SectionRun::open(
        assignment,
        {.job = job_,
         .token = options_.token,
         .host = host_,
         .no_profile = options_.no_profile,
         .on_linked = [this] { say({{"say", "linked"}}); },
         .on_trouble =
             [this](const Endpoint& producer, const std::string& why) {
               say({{"say", "trouble"}, {"host", producer.host}, {"port", producer.port}, {"why", why}});
             }});
    if (!run) {
      say({{"say", "failed"}, {"why", run.error().message}});
      return;
    }
    {
      const std::scoped_lock lock(mutex_);
      if (outcome_) return;
      run_ = *std::move(run);
      say_next({{"say", "serving"}, {"port", run_->port()}});
    }
    if (options_.on_note)
      options_.on_note(
          fmt::format("does {} from frame {} on", printable(assignment.pipeline), assignment.start));
    add_task({{"say", "section"}});
  }

  void add_task(Message task) {
    {
      const std::scoped_lock lock(mutex_);
      tasks_.push_back(std::move(task));
    }
    there_is_.notify_all();
  }

  run::ExecutionContext& context_;
  const SplitNodeOptions& options_;
  WakeUp wake_;
  std::optional<LineChannel> channel_;  // used by the listening thread once it runs
  std::string host_;                    // of this end
  std::string job_;
  std::mutex mutex_;
  std::condition_variable there_is_;
  std::deque<Message> tasks_;
  std::deque<Message> to_say_;
  std::optional<Status> outcome_;
  std::shared_ptr<SectionRun> run_;  // written only by the listening thread, under mutex_
  std::jthread listener_;
  std::stop_callback<std::function<void()>> on_stop_;
};

}  // namespace

Status serve_split(run::ExecutionContext& context, const SplitNodeOptions& options) {
  while (true) {
    Status served = SplitNode(context, options).serve();
    const bool refused = !served && served.error().kind == ErrorKind::usage;
    if (!options.stay || refused) return served;
    const bool failed = !served && served.error().kind != ErrorKind::interrupted;
    const bool stops = options.stop.stop_requested();
    if (options.on_note && (failed || !stops))
      options.on_note(fmt::format("{}{}", failed ? served.error().message : "the head has ended",
                                  stops ? "" : "; waiting for the next head"));
    // Also applies if the head has just ended, because this is the only end of a node that stays.
    if (stops) return SplitNode::interrupted();
  }
}

}  // namespace millrace::cluster
