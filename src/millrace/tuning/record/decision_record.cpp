#include "millrace/tuning/record/decision_record.h"

#include <algorithm>
#include <iterator>
#include <numeric>

namespace millrace::tuning {

std::string_view name_of(EventKind kind) {
  switch (kind) {
  case EventKind::started:
    return "started";
  case EventKind::trial:
    return "trial";
  case EventKind::incumbent:
    return "incumbent";
  case EventKind::drift:
    return "drift";
  case EventKind::context:
    return "context";
  case EventKind::profile_forgotten:
    return "profile forgotten";
  case EventKind::refused:
    return "refused";
  case EventKind::declined:
    return "no trial";
  }
  return "";
}

std::string_view text_of(Reason reason) {
  switch (reason) {
  case Reason::prior:
    return "is the best guess before anything was measured";
  case Reason::remembered:
    return "is remembered from an earlier run";
  case Reason::suggested:
    return "is one of the candidates to try first";
  case Reason::improvement:
    return "promised the greatest improvement for the time it takes to try";
  case Reason::verification:
    return "is a close rival, looked at again";
  case Reason::clearly_worse:
    return "was clearly worse in its first frames";
  case Reason::not_better:
    return "cannot be better by enough to pay for a switch";
  case Reason::undecided:
    return "shows no difference worth a switch";
  case Reason::better:
    return "is better beyond doubt";
  case Reason::interrupted:
    return "was interrupted by a change of the situation";
  case Reason::successor:
    return "takes the place of one that the machine refused to run";
  }
  return "";
}

DecisionRecord::DecisionRecord(int length) : ring_(static_cast<std::size_t>(std::max(1, length))) {}

void DecisionRecord::add(const Event& event) {
  ring_[next_] = event;
  next_ = (next_ + 1) % ring_.size();
  full_ = full_ || next_ == 0;
  ++counts_[static_cast<std::size_t>(event.kind)];
}

void DecisionRecord::restamp(double time) {
  for (Event& event : ring_)
    event.time = time;
}

std::int64_t DecisionRecord::left_out() const {
  const std::int64_t all = std::accumulate(counts_.begin(), counts_.end(), std::int64_t{0});
  return full_ ? all - std::ssize(ring_) : 0;
}

std::vector<Event> DecisionRecord::events() const {
  std::vector<Event> events;
  if (full_) events.assign(ring_.begin() + static_cast<std::ptrdiff_t>(next_), ring_.end());
  events.insert(events.end(), ring_.begin(), ring_.begin() + static_cast<std::ptrdiff_t>(next_));
  return events;
}

}  // namespace millrace::tuning
