#include "millrace/base/toml_document.h"

#include "millrace/base/printable.h"

#include <algorithm>
#include <array>
#include <optional>

namespace millrace {
namespace {

// Finds out, without a parser's recursion, whether a text nests too deep. Of text that is not TOML it may say
// anything: the parser refuses that itself, at the first such place, and reads nothing beyond.
class NestingScan {
 public:
  explicit NestingScan(std::string_view text) : rest_(text) {}

  // The line where the levels are too many.
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

  // What the depth is where a new value begins: that of the innermost bracket.
  [[nodiscard]] std::size_t outside() const { return open_ == 0 ? 0 : opened_at_[open_ - 1]; }
  // Each bracket is a level, so that all those of a text that is not too deep have room.
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
        // The last two quotes of a long string may be its own.
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
  std::array<std::size_t, most_toml_levels> opened_at_{};  // the depth within each bracket that is open
  std::size_t open_ = 0;
};

}  // namespace

Result<toml::table> parse_toml(std::string_view text, std::string_view file_name) {
  if (const auto line = NestingScan(text).too_deep_in())
    return usage_error(
        "{}:{}: keys, tables or lists lie more than {} levels deep in each other; make it flatter", file_name,
        *line, most_toml_levels);
  // toml++ as Debian builds it reports by exceptions, which end here.
  try {
    return toml::parse(text);
  } catch (const toml::parse_error& error) {
    // Its descriptions may quote the file, line breaks and all.
    return usage_error("{}:{}: not valid TOML: {}", file_name, error.source().begin.line,
                       printable(error.description()));
  }
}

}  // namespace millrace
