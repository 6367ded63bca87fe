// OrderedTail: the cost of in-order delivery under stealing. Items that finish early keep their tokens until
// all earlier items are done.
#pragma once

#include "millrace/base/error/export.h"
#include "millrace/model/pipeline/pipeline.h"

#include <functional>
#include <vector>

namespace millrace::model {

// Simulates about a thousand items, one by one. An item begins when a thread, the source and a token are
// free; its token is free when item i - tokens has left. At a serial stage it waits for the previous item,
// while its thread does other work. It leaves when it and all earlier items are done.
//
// This is exact for any service times, with two simplifications. Threads are assumed to work on their items
// without gaps. An item that splits is assumed to use one thread at a time. The same pipeline gives the same
// items.
class MILLRACE_EXPORT OrderedTail {
 public:
  // Looks at `items` items: the recorded ones if there are any, otherwise drawn from the stages' service
  // times. A thousand items show the effect of a one-in-fifty event. At least about 64 per thread are needed
  // to make the start-up negligible. The pipeline must be valid; items >= 1. Asks `stops` now and then; once
  // it has returned true, it must stay true and the results are meaningless.
  OrderedTail(const Pipeline& pipeline, int items, const std::function<bool()>& stops = {});

  // The time with the given number of tokens over the time with unlimited tokens, >= 1. Both arguments >= 1.
  // It never increases with the tokens. 1 if no stage is ordered.
  [[nodiscard]] double slowdown(int threads, int tokens) const;
  // The smallest number of tokens, at least `least`, for which slowdown() is at most `slowdown` >= 1.
  [[nodiscard]] int sufficient_tokens(int threads, double slowdown, int least,
                                      const std::function<bool()>& stops = {}) const;
  // This many tokens are as good as unlimited.
  [[nodiscard]] int items() const { return items_; }

 private:
  // Seconds of one item in a serial stage, or in adjacent parallel ones.
  struct Work {
    double seconds = 0;
    bool serial = false;
  };

  [[nodiscard]] double seconds(int threads, std::size_t tokens,
                               const std::function<bool()>& stops = {}) const;

  std::size_t segments_ = 0;  // per item
  std::vector<Work> work_;    // item after item; empty if no stage is ordered
  int items_ = 0;
};

}  // namespace millrace::model
