#include "millrace/base/text/toml_document.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace {
namespace {

using testing::HasSubstr;

std::string repeated(std::string_view text, std::size_t times) {
  std::string result;
  for (std::size_t i = 0; i < times; ++i)
    result += text;
  return result;
}

struct TooDeep {
  const char* name;
  std::string text;
  int line = 1;
};
class TooDeepToml : public testing::TestWithParam<TooDeep> {};

// Each of these overflowed the stack, or would have with a little more text.
TEST_P(TooDeepToml, IsToldInALineWhateverItsDepth) {
  const auto read = parse_toml(GetParam().text, "deep.toml");
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().kind, ErrorKind::usage);
  EXPECT_THAT(read.error().message, HasSubstr("deep.toml:" + std::to_string(GetParam().line) + ": "));
  EXPECT_THAT(read.error().message, HasSubstr("more than 32 levels deep"));
}

constexpr std::size_t many = 40'000;
INSTANTIATE_TEST_SUITE_P(
    Texts, TooDeepToml,
    testing::Values(TooDeep{"key", repeated("a.", many) + "a = 1"},
                    TooDeep{"quoted_key", "x = 1\n" + repeated("\"a\" . ", many) + "a = 1", 2},
                    TooDeep{"table", "[" + repeated("a.", many) + "a]"},
                    TooDeep{"list_of_tables", "\n\n[[" + repeated("a.", many) + "a]]", 3},
                    TooDeep{"lists", "a = " + repeated("[", many) + repeated("]", many)},
                    TooDeep{"lists_never_ended", "a = " + repeated("[", many)},
                    TooDeep{"inline_tables", "a = " + repeated("{a = ", many) + "1" + repeated("}", many)},
                    TooDeep{"key_in_inline_table", "a = {b = 1, " + repeated("a.", many) + "a = 1}"},
                    TooDeep{"after_a_string_with_brackets", "a = ['x', \"]\", " + repeated("[", many)},
                    TooDeep{"after_quotes_that_end_a_long_string",
                            "a = {b = \"\"\"x\"\"\"\", " + repeated("a.", many) + "a = 1}"},
                    TooDeep{"after_a_long_string_of_lines",
                            "a = {b = '''\n]]\n''', c" + repeated(".a", many) + " = 1}", 3}),
    [](const auto& info) { return std::string(info.param.name); });

TEST(Toml, HoldsWhatNestsNoDeeperThanTheBound) {
  const std::size_t most = most_toml_levels - 1;
  for (const std::string& text :
       {repeated("a.", most) + "a = 1",
        "[" + repeated("a.", most - 1) + "a]\n" + repeated("b.", most) + "b = 1",
        "a = " + repeated("[", most) + repeated("]", most),
        // Not levels: numbers, strings and comments with dots and brackets, and consecutive tables.
        "a = [" + repeated("1.5, ", 1000) + "]", "a = \"" + repeated("[", 1000) + "\"",
        "a = '" + repeated("a.", 1000) + "'", "a = \"\"\"" + repeated("[\\\"\n", 1000) + "\"\"\"",
        "# " + repeated("[{a.", 1000) + "\na = 1", "[t]\n" + [] {
          std::string keys;
          for (int i = 0; i < 1000; ++i)
            keys += "k" + std::to_string(i) + ".a = {b = [1.5]}\n";
          return keys;
        }()}) {
    const auto read = parse_toml(text, "flat.toml");
    EXPECT_TRUE(read) << text.substr(0, 60) << ": " << read.error().message;
  }
}

TEST(Toml, ThatIsNoneIsToldInOneLineFitForATerminal) {
  for (const char* text :
       {"a = ", "\nb = \"\x1b[31m", "a = 1\na = 2", "a = \"\xff\"", "\x1b = 1", "]]]].a.", "\\"}) {
    const auto read = parse_toml(text, "wrong.toml");
    ASSERT_FALSE(read) << text;
    EXPECT_THAT(read.error().message, HasSubstr(": not valid TOML: "));
    for (const char c : read.error().message)
      EXPECT_TRUE(c >= ' ' && c <= '~') << static_cast<int>(c);
  }
}

}  // namespace
}  // namespace millrace
