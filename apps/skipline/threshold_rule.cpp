#include "skipline/threshold_rule.h"

namespace millrace::skipline {

Result<Variant> parse_variant(std::string_view name) {
  for (const Variant variant : {Variant::basic, Variant::swing, Variant::tow})
    if (name == name_of(variant)) return variant;
  return usage_error("'{}' is not a variant; use basic, swing or tow", name);
}

}  // namespace millrace::skipline
