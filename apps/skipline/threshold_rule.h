// ThresholdRule: how different a line may be to be skipped, which is what the variants differ in.
#pragma once

#include "millrace/base/result.h"

#include <algorithm>
#include <string_view>

namespace millrace::skipline {

enum class Variant {
  basic,  // always the threshold
  swing,  // goes down from the threshold to 0 by one a line, and up again
  tow,    // a tug of war: what a skipped line loses pulls it down, a line without loss lets it up by one
};

// "basic", "swing", "tow".
[[nodiscard]] constexpr std::string_view name_of(Variant variant) {
  switch (variant) {
  case Variant::basic:
    return "basic";
  case Variant::swing:
    return "swing";
  case Variant::tow:
    return "tow";
  }
  return "";
}
// The reverse; usage error that lists the names.
[[nodiscard]] Result<Variant> parse_variant(std::string_view name);

// One strip's rule. Between 0 and `threshold` at any time; threshold >= 0.
class ThresholdRule {
 public:
  ThresholdRule(Variant variant, int threshold)
      : variant_(variant), threshold_(threshold), allowed_(threshold) {}

  // What the next line may differ.
  [[nodiscard]] int allowed() const { return allowed_; }

  // The line was compared: skipped with a difference of `loss`, or kept, which loses nothing.
  void compared(int loss) {
    switch (variant_) {
    case Variant::basic:
      break;
    case Variant::swing:
      if (allowed_ == 0) falling_ = false;
      if (allowed_ == threshold_) falling_ = true;
      allowed_ = std::clamp(allowed_ + (falling_ ? -1 : 1), 0, threshold_);
      break;
    case Variant::tow:
      allowed_ = std::clamp(loss > 0 ? allowed_ - loss : allowed_ + 1, 0, threshold_);
      break;
    }
  }

 private:
  Variant variant_;
  int threshold_;
  int allowed_;
  bool falling_ = true;
};

}  // namespace millrace::skipline
