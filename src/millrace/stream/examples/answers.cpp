#include <chrono>
#include <cstdio>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include <millrace/stream/flow.h>

using namespace std::chrono_literals;
using millrace::stream::Continuation;
using millrace::stream::Kind;

// Simulates a client library that answers after a while, in any order, on a thread of its own.
class Service {
 public:
  void ask(int question, const std::function<void(std::string)>& answer) {
    const std::lock_guard lock(mutex_);
    due_.emplace(std::chrono::steady_clock::now() + 1ms * (question * 7 % 20),
                 [=] { answer("the answer to " + std::to_string(question)); });
  }

 private:
  void serve(const std::stop_token& stop) {
    for (; !stop.stop_requested(); std::this_thread::sleep_for(1ms))
      while (auto answer = next())
        (*answer)();
  }
  std::optional<std::function<void()>> next() {
    const std::lock_guard lock(mutex_);
    if (due_.empty() || due_.begin()->first > std::chrono::steady_clock::now()) return std::nullopt;
    return std::move(due_.extract(due_.begin()).mapped());
  }

  std::mutex mutex_;
  std::multimap<std::chrono::steady_clock::time_point, std::function<void()>> due_;
  std::jthread thread_{[this](const std::stop_token& stop) { serve(stop); }};
};

int main() {
  Service service;
  auto stream =
      millrace::stream::source("questions",
                               [next = 0]() mutable -> std::optional<int> {
                                 return next < 200 ? std::optional(next++) : std::nullopt;
                               })
          .stage<std::string>(Kind::parallel, "ask",
                              [&](int question, const Continuation<std::string>& done) {
                                service.ask(question,
                                            [done](std::string answer) { done.resume(std::move(answer)); });
                              },
                              {.limit = 50})
          .sink(Kind::serial_in_order, "print", [](const std::string& answer) { std::puts(answer.c_str()); });
  if (!stream) return std::fprintf(stderr, "%s\n", stream.error().message.c_str()), 2;
  auto running = stream->start({.threads = 1});  // one thread, up to 50 questions at once
  if (!running) return std::fprintf(stderr, "%s\n", running.error().message.c_str()), 1;
  while (!running->is_over()) {
    const auto now = running->live();
    std::fprintf(stderr, "%d questions asked, %d wait for their answer, %.0f a second\n",
                 static_cast<int>(now.stages[1].items_in), static_cast<int>(now.stages[1].waiting),
                 now.items_per_s);
    std::this_thread::sleep_for(20ms);
  }
  const auto& finished = running->wait();
  if (!finished.status) return std::fprintf(stderr, "%s\n", finished.status.error().message.c_str()), 1;
}
