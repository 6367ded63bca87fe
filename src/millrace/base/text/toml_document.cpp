#include "millrace/base/text/toml_document.h"

#include "millrace/base/text/printable.h"

#include <algorithm>
#include <array>
#include <optional>

namespace millrace {
namespace {

// Detects excessive nesting without recursion. For invalid TOML the answer is arbitrary: the parser stops at
// the first error and reads nothing after it.
class NestingScan {
 public:
  explicit NestingScan(std::string_view text) : rest_(text) {}

  // The line that exceeds the nesting limit, if any.
  std::optional<std::size_t> too_deep_in() {
    while (!rest_.empty()) {
      take_token();
      if (depth_ > most_toml_levels) return line_;
    }
    return std::nullopt;
  }

 private:
  void take_token() {
    const char c = rest_.front();
    if (c == '"' || c == '\'') return pass_string(c);
    if (c == '#') return pass(std::min(rest_.find('\n'), rest_.size()));
    pass(1);
    if (c == '.') ++depth_;
    if (c == '[' || c == '{') open();
    if (c == ']' || c == '}') close();
    if (c == ',') depth_ = outside();
    if (c == '\n' && open_ == 0) depth_ = 0;
  }

  // The depth at the start of a new value: that of the innermost bracket.
  [[nodiscard]] std::size_t outside() const { return open_ == 0 ? 0 : opened_at_[open_ - 1]; }
  // Each bracket is one level, so the array has room for all brackets of a text within the limit.
  void open() {
    if (++depth_ <= most_toml_levels) opened_at_[open_++] = depth_;
  }
  void close() {
    if (open_ > 0) --open_;
    depth_ = outside();
  }

  void pass_string(char quote) {
    const std::string_view three = quote == '"' ? R"(""")" : "'''";
    const bool is_long = rest_.starts_with(three);
    pass(is_long ? 3 : 1);
    while (!rest_.empty()) {
      if (is_long ? rest_.starts_with(three) : rest_.front() == quote) {
        pass(is_long ? 3 : 1);
        // Up to two quotes before the end of a long string may belong to its content.
        for (int more = 0; is_long && more < 2 && rest_.starts_with(quote); ++more)
          pass(1);
        return;
      }
      if (!is_long && rest_.front() == '\n') return;
      pass(quote == '"' && rest_.front() == '\\' ? 2 : 1);
    }
  }

  void pass(std::size_t count) {
    count = std::min(count, rest_.size());
    line_ += static_cast<std::size_t>(std::ranges::count(rest_.substr(0, count), '\n'));
    rest_.remove_prefix(count);
  }

  std::string_view rest_;
  std::size_t line_ = 1;
  std::size_t depth_ = 0;
  std::array<std::size_t, most_toml_levels> opened_at_{};  // the depth inside each open bracket
  std::size_t open_ = 0;
};

}  // namespace

Result<toml::table> parse_toml(std::string_view text, std::string_view file_name) {
  if (const auto line = NestingScan(text).too_deep_in())
    return usage_error(
        "{}:{}: keys, tables or lists lie more than {} levels deep in each other; make it flatter", file_name,
        *line, most_toml_levels);
  // Debian's build of toml++ reports errors by exception.
  try {
    return toml::parse(text);
  } catch (const toml::parse_error& error) {
    // The description may quote the file, including line breaks.
    return usage_error("{}:{}: not valid TOML: {}", file_name, error.source().begin.line,
                       printable(error.description()));
  }
}

}  // namespace millrace
