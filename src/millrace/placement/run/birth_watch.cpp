#include "millrace/placement/run/birth_watch.h"

#include "millrace/placement/apply/births_under_way.h"
#include "millrace/placement/run/overseer.h"
#include "millrace/placement/run/rest_after.h"

#include <algorithm>
#include <utility>

namespace millrace::placement {
namespace {

// Polling interval at the start, when a program makes most of its threads.
constexpr std::int64_t eager_polling_ns = 5'000'000;
constexpr std::int64_t eager_time_ns = 1'000'000'000;

}  // namespace

void BirthWatch::begin_polling(Orphans orphans) {
  poller_.look_for(std::move(orphans));
  polls_ = true;
}

void BirthWatch::look(std::int64_t now) {
  const std::int64_t rest = rest_after([this] { poller_.poll_if_any_ran(); });
  // At the start of a program, polling may cost more.
  constexpr std::int64_t eagerness = 10;
  next_ns_ = now + (now - begun_ns_ < eager_time_ns ? std::max(rest / eagerness, eager_polling_ns)
                                                    : std::max(rest, Overseer::observation_ns));
}

bool BirthWatch::has_handed_over(Follower& follower, std::int64_t now) {
  if (polls_) return false;
  if (follower.handed_over()) return true;
  if (now - std::max(begun_ns_, threads_->last_birth_ns()) < hand_over_ns_) return false;
  follower.hand_over();
  return false;
}

void BirthWatch::find_all() {
  constexpr int most_passes = 10;
  for (int pass = 0; pass < most_passes && poller_.poll(); ++pass) {
  }
}

void BirthWatch::find_late_births() {
  BirthsUnderWay().wait_until_none([this] {
    const bool found_new = poller_.poll();
    return BirthsUnderWay::Look{threads_->processes(), found_new};
  });
}

}  // namespace millrace::placement
