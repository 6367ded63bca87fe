// What it costs, when stealing, that items leave in the order of the stream: those that are done early keep
// their tokens until all before them are done.
#pragma once

#include "millrace/base/export.h"
#include "millrace/model/pipeline/pipeline.h"

#include <vector>

namespace millrace::model {

// Goes through some thousand items one by one: item i begins when a thread, the source and a token are free,
// the token when item i - tokens has left; at a serial stage it waits for the one before it, during which its
// thread does others' work; it leaves when it is done and all before it have left. That is exact, whatever
// the service times, but for two things: a thread is taken to do its items' work without a gap, and an item
// to have no use of several threads at once where it splits. The same pipeline gives the same items.
class MILLRACE_EXPORT OrderedTail {
 public:
  // Looks at so many items: the recorded ones, where there are any; else drawn from the stages' service
  // times. A thousand show what one in fifty does; some 64 a thread are needed for the beginning not to
  // matter. The pipeline is valid; items >= 1.
  OrderedTail(const Pipeline& pipeline, int items);

  // How many times as long the threads take with so many tokens as with any number of them, >= 1; both >= 1.
  // Does not rise with the tokens; 1 where no stage keeps the order.
  [[nodiscard]] double slowdown(int threads, int tokens) const;
  // The smallest number of tokens, `least` or more, with which it is at most `slowdown` >= 1.
  [[nodiscard]] int sufficient_tokens(int threads, double slowdown, int least) const;
  // As many tokens as this are any number of them.
  [[nodiscard]] int items() const { return items_; }

 private:
  // Seconds of one item in a serial stage, or in neighbouring parallel ones.
  struct Work {
    double seconds = 0;
    bool serial = false;
  };

  [[nodiscard]] double seconds(int threads, std::size_t tokens) const;

  std::size_t segments_ = 0;  // of each item
  std::vector<Work> work_;    // of item after item; empty where no stage keeps the order
  int items_ = 0;
};

}  // namespace millrace::model
