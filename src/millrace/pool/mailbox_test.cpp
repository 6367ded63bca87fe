// Tests the mailbox alone: one leader, one worker, and all combinations of polling and sleeping.
#include "millrace/pool/mailbox.h"

#include <chrono>
#include <cstdint>
#include <random>
#include <stdexcept>
#include <thread>
#include <tuple>

#include <gtest/gtest.h>

namespace millrace::pool {
namespace {

// Runs a worker's loop on a mailbox until destruction.
class Server {
 public:
  Server(Mailbox& mailbox, std::int64_t linger_ns)
      : mailbox_(mailbox), thread_([&mailbox, linger_ns] {
          for (;;) {
            const Job job = mailbox.receive(linger_ns);
            if (!job.work) return;
            try {
              job.work(job.rank);
              mailbox.finish(nullptr);
            } catch (...) {
              mailbox.finish(std::current_exception());
            }
          }
        }) {}
  ~Server() {
    mailbox_.post(Job{});
    thread_.join();
  }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

 private:
  Mailbox& mailbox_;
  std::thread thread_;
};

void pause_about(std::int64_t microseconds) {
  if (microseconds > 0) std::this_thread::sleep_for(std::chrono::microseconds(microseconds));
}

// Linger of the leader and the worker in nanoseconds.
class MailboxTest : public testing::TestWithParam<std::tuple<std::int64_t, std::int64_t>> {
 protected:
  std::int64_t leader_linger_ns_ = std::get<0>(GetParam());
  Mailbox mailbox_;
  Server server_{mailbox_, std::get<1>(GetParam())};
};

TEST_P(MailboxTest, every_job_is_done_once_and_its_writes_are_seen) {
  int value = 0;  // not atomic: the thread sanitizer reports unordered accesses
  const auto add = [&](int rank) { value += rank; };
  for (int i = 1; i <= 5000; ++i) {
    mailbox_.post({add, 2, 0});
    mailbox_.await_done(leader_linger_ns_);
    ASSERT_EQ(value, 2 * i);
    ASSERT_EQ(mailbox_.take_error(), nullptr);
  }
}

TEST_P(MailboxTest, no_wake_up_is_lost_when_either_side_pauses) {
  std::mt19937 random(7);
  std::uniform_int_distribution<std::int64_t> microseconds(0, 60);
  int calls = 0;
  for (int i = 0; i < 400; ++i) {
    const std::int64_t job_pause = i % 2 == 0 ? microseconds(random) : 0;
    const auto work = [&](int) {
      ++calls;
      pause_about(job_pause);
    };
    mailbox_.post({work, 0, 0});
    mailbox_.await_done(leader_linger_ns_);
    pause_about(i % 3 == 0 ? microseconds(random) : 0);
  }
  EXPECT_EQ(calls, 400);
}

TEST_P(MailboxTest, awaiting_without_a_job_returns_at_once) {
  mailbox_.await_done(leader_linger_ns_);
  while (!mailbox_.worker_asleep())
    std::this_thread::yield();
  mailbox_.await_done(leader_linger_ns_);
  EXPECT_TRUE(mailbox_.worker_asleep());
}

TEST_P(MailboxTest, an_error_is_given_to_the_leader_once) {
  const auto fail = [](int) { throw std::runtime_error("no"); };
  const auto succeed = [](int) {};
  mailbox_.post({fail, 0, 0});
  mailbox_.await_done(leader_linger_ns_);
  EXPECT_NE(mailbox_.take_error(), nullptr);
  EXPECT_EQ(mailbox_.take_error(), nullptr);
  mailbox_.post({succeed, 0, 0});
  mailbox_.await_done(leader_linger_ns_);
  EXPECT_EQ(mailbox_.take_error(), nullptr);
}

TEST_P(MailboxTest, what_is_offered_is_done_once_or_taken_back) {
  std::mt19937 random(11);
  std::uniform_int_distribution<std::int64_t> microseconds(0, 40);
  int value = 0;  // not atomic, as above
  int expected = 0;
  int taken_back = 0;
  const auto add = [&](int rank) { value += rank; };
  for (int i = 1; i <= 300; ++i) {
    mailbox_.offer({add, 3, 0});
    if (i % 4 == 0) pause_about(microseconds(random));
    if (mailbox_.take_back_or_await(leader_linger_ns_))
      ++taken_back;
    else
      expected += 3;
    ASSERT_EQ(value, expected);
    // A posted job runs even after an offered one was taken back.
    if (i % 3 == 0) {
      mailbox_.post({add, 2, 0});
      mailbox_.await_done(leader_linger_ns_);
      ASSERT_EQ(value, expected += 2);
    }
    if (i % 5 == 0) pause_about(microseconds(random));
  }
  EXPECT_LE(taken_back, 300);
}

TEST_P(MailboxTest, a_worker_sleeps_again_when_what_woke_it_was_taken_back) {
  for (int i = 0; i < 50; ++i) {
    while (!mailbox_.worker_asleep())
      std::this_thread::yield();
    const auto nothing = [](int) {};
    mailbox_.offer({nothing, 0, 0});
    std::ignore = mailbox_.take_back_or_await(leader_linger_ns_);
  }
  while (!mailbox_.worker_asleep())
    std::this_thread::yield();
}

TEST(Mailbox, a_leader_does_not_wait_for_a_worker_that_has_not_begun) {
  Mailbox mailbox;  // has no worker at all
  int calls = 0;
  const auto count = [&](int) { ++calls; };
  for (int i = 0; i < 3; ++i) {
    mailbox.offer({count, 0, 0});
    EXPECT_TRUE(mailbox.take_back_or_await(10'000));
  }
  mailbox.offer({count, 0, 0});
  const Server server(mailbox, 0);
  while (!mailbox.worker_asleep())
    std::this_thread::yield();
  EXPECT_FALSE(mailbox.take_back_or_await(10'000));
  EXPECT_EQ(calls, 1);
}

INSTANTIATE_TEST_SUITE_P(Lingers, MailboxTest,
                         testing::Combine(testing::Values(0, 10'000), testing::Values(0, 10'000)));

}  // namespace
}  // namespace millrace::pool
