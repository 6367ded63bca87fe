#include "millrace/report/study/evidence.h"

#include "millrace/base/numbers/counted.h"

#include <fmt/format.h>

namespace millrace::report {

std::string text_of(const MeanInterval& value) {
  if (!value.known) return fmt::format("{:.2f} (too few rounds for an interval)", value.mean);
  return fmt::format("{:.2f} ({:.2f} to {:.2f})", value.mean, value.low, value.high);
}

std::string threads_text(int threads) { return counted(threads, "thread"); }

Judgement needs(const Evidence& evidence, int threads) {
  return {Verdict::not_here,
          fmt::format("takes {}; {} may be used here", threads_text(threads), evidence.all_threads())};
}

Verdict together(Verdict a, Verdict b) {
  for (const Verdict worst : {Verdict::differs, Verdict::undecided, Verdict::not_here}) {
    if (a == worst || b == worst) return worst;
  }
  return Verdict::agrees;
}

Verdict holds(bool held) { return held ? Verdict::agrees : Verdict::differs; }

Verdict is_faster(const MeanInterval& ratio) {
  if (!ratio.known) return Verdict::undecided;
  if (ratio.high < 1) return Verdict::agrees;
  return ratio.low > 1 ? Verdict::differs : Verdict::undecided;
}
Verdict is_slower(const MeanInterval& ratio) {
  if (!ratio.known) return Verdict::undecided;
  if (ratio.low > 1) return Verdict::agrees;
  return ratio.high < 1 ? Verdict::differs : Verdict::undecided;
}

bool is_same(const MeanInterval& ratio) {
  return (ratio.low <= 1 && ratio.high >= 1) || (ratio.mean > 0.95 && ratio.mean < 1.05);
}

}  // namespace millrace::report
