// Explains the tuner's decisions, and produces the profile for the next run.
#include "millrace/base/numbers/counted.h"
#include "millrace/tuning/record/decision_report.h"
#include "millrace/tuning/tuner/tuner.h"

#include <algorithm>
#include <cmath>

namespace millrace::tuning {

std::string Tuner::explain(double start) const {
  if (incumbent_ < 0) return "nothing has run yet";
  int tried = 0;
  int closest = -1;
  for (int c = 0; c < space_->size(); ++c) {
    if (of(c).trials == 0 || c == incumbent_) continue;
    ++tried;
    if (closest < 0 || of(c).level < of(closest).level) closest = c;
  }
  const std::string name = space_->describe(incumbent_);
  std::string sentence;
  if (crowning_.kind == EventKind::started) {
    sentence = fmt::format("{} runs since the start: it {}", name, text_of(crowning_.chosen));
  } else if (crowning_.chosen == Reason::successor) {
    sentence =
        fmt::format("{} runs since {:.2f} s: it {}", name, crowning_.time - start, text_of(crowning_.chosen));
  } else {
    sentence = fmt::format("{} runs since {:.2f} s: it took {:.3f}x [{:.3f}, {:.3f}] the cost of {} in {}",
                           name, crowning_.time - start, crowning_.ratio, crowning_.low, crowning_.high,
                           space_->describe(crowning_.against), counted(crowning_.frames, "frame"));
  }
  if (tried == 0) return sentence + "; nothing else has been measured";
  return sentence + fmt::format("; of {} measured ({} in the space), the closest is {} at {:.3f}x",
                                counted(tried, "other candidate"), space_->size(), space_->describe(closest),
                                std::exp(of(closest).level - level_));
}

Remembered Tuner::remember(int limit) const {
  Remembered remembered{.incumbent = std::max(incumbent_, 0)};
  for (int c = 0; c < space_->size(); ++c) {
    if (of(c).trials > 0 && c != incumbent_) remembered.costs.push_back({c, std::exp(of(c).level - level_)});
  }
  std::ranges::sort(remembered.costs, [](const RememberedCost& a, const RememberedCost& b) {
    return a.ratio != b.ratio ? a.ratio < b.ratio : a.candidate < b.candidate;
  });
  if (std::ssize(remembered.costs) > limit)
    remembered.costs.resize(static_cast<std::size_t>(std::max(0, limit)));
  return remembered;
}

}  // namespace millrace::tuning
