#include "millrace/base/text/escaped_markup.h"

#include <gtest/gtest.h>

namespace millrace {
namespace {

TEST(EscapedMarkup, HasNothingThatMeansSomethingInAPageOrActsOnATerminal) {
  EXPECT_EQ(escaped_markup("a<b>&\"c\"\x1b\xff"), "a&lt;b&gt;&amp;&quot;c&quot;\\x1b\\xff");
  EXPECT_EQ(escaped_markup("±"), "±");
}

}  // namespace
}  // namespace millrace
