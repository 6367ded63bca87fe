// ThresholdRule: how different a line may be to be skipped. The variants differ only in this rule.
#pragma once

#include "millrace/base/error/result.h"

#include <algorithm>
#include <string_view>

namespace millrace::skipline {

enum class Variant {
  basic,  // always the threshold
  swing,  // decreases from the threshold to 0 by one per line, and increases again
  tow,    // tug of war: the loss of a skipped line lowers it, a line without loss raises it by one
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
// The inverse of name_of(); a usage error lists the names.
[[nodiscard]] Result<Variant> parse_variant(std::string_view name);

// The rule within one strip. The allowed difference stays between 0 and `threshold`; threshold >= 0.
class ThresholdRule {
 public:
  ThresholdRule(Variant variant, int threshold)
      : variant_(variant), threshold_(threshold), allowed_(threshold) {}

  // Allowed difference of the next line.
  [[nodiscard]] int allowed() const { return allowed_; }

  // Reports a compared line: skipped with a difference of `loss`, or kept with a loss of 0.
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
