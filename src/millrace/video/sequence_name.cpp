#include "millrace/video/sequence_name.h"

#include "millrace/base/text/parse_number.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include <fmt/format.h>

namespace millrace::video {

std::optional<SequenceName> SequenceName::parse(std::string_view name) {
  constexpr int most_digits = 18;
  SequenceName result;
  bool found = false;
  for (std::size_t i = 0; i < name.size(); ++i) {
    std::string& part = found ? result.suffix_ : result.prefix_;
    if (name[i] != '%') {
      part += name[i];
      continue;
    }
    std::size_t end = i + 1;
    while (end < name.size() && std::isdigit(static_cast<unsigned char>(name[end])) != 0)
      ++end;
    const std::string_view digits = name.substr(i + 1, end - i - 1);
    if (digits.empty() && end < name.size() && name[end] == '%') {
      part += '%';
    } else if (!found && end < name.size() && name[end] == 'd' && (digits.empty() || digits.front() == '0')) {
      found = true;
      if (!digits.empty()) {
        const auto count = parse_number<int>(digits);
        if (!count || *count > most_digits) return std::nullopt;
        result.digits_ = std::max(1, *count);
      }
    } else {
      return std::nullopt;
    }
    i = end;
  }
  if (!found || result.suffix_.find('/') != std::string::npos) return std::nullopt;
  return result;
}

SequenceName SequenceName::single(std::string_view file) {
  SequenceName result;
  result.suffix_ = file;
  result.digits_ = 0;
  return result;
}

std::string SequenceName::at(std::int64_t number) const {
  if (is_single()) return suffix_;
  return fmt::format("{}{:0{}}{}", prefix_, number, digits_, suffix_);
}

std::optional<std::int64_t> SequenceName::number_of(std::string_view file) const {
  const std::string_view prefix = name_prefix();
  if (file.size() <= prefix.size() + suffix_.size() || !file.starts_with(prefix) || !file.ends_with(suffix_))
    return std::nullopt;
  const std::string_view digits = file.substr(prefix.size(), file.size() - prefix.size() - suffix_.size());
  const auto width = static_cast<std::size_t>(digits_);
  const bool padded = digits.size() == width || (digits.size() > width && digits.front() != '0');
  if (!padded || digits.find_first_not_of("0123456789") != std::string_view::npos) return std::nullopt;
  return parse_number<std::int64_t>(digits);
}

std::string_view SequenceName::name_prefix() const {
  return std::string_view(prefix_).substr(prefix_.rfind('/') + 1);
}

// If one prefix extends the other, a number may start with the rest of the longer prefix. Likewise it may end
// with the start of the other suffix.
bool SequenceName::may_meet(const SequenceName& other) const {
  const bool shorter = name_prefix().size() < other.name_prefix().size();
  const SequenceName& outer = shorter ? *this : other;
  const SequenceName& inner = shorter ? other : *this;
  if (!inner.name_prefix().starts_with(outer.name_prefix())) return false;
  const std::string_view before = inner.name_prefix().substr(outer.name_prefix().size());
  std::string_view short_end = suffix_;
  std::string_view long_end = other.suffix_;
  if (short_end.size() > long_end.size()) std::swap(short_end, long_end);
  if (!long_end.ends_with(short_end)) return false;
  const std::string_view after = long_end.substr(0, long_end.size() - short_end.size());
  constexpr std::string_view digits = "0123456789";
  if (before.find_first_not_of(digits) != std::string_view::npos ||
      after.find_first_not_of(digits) != std::string_view::npos)
    return false;
  // A leading 0 means padding, so the number has exactly the padded width.
  const bool padded = !before.empty() && before.front() == '0' && after.empty();
  return !padded || outer.digits_ >= std::ssize(before) + inner.digits_;
}

std::string SequenceName::folder() const {
  const std::size_t slash = prefix_.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : prefix_.substr(0, slash);
}

}  // namespace millrace::video
