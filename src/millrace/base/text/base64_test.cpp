// The examples of RFC 4648.
#include "millrace/base/text/base64.h"

#include <string_view>
#include <utility>

#include <gtest/gtest.h>

namespace millrace {
namespace {

TEST(Base64, EncodesTheExamplesOfItsStandard) {
  for (const auto& [text, encoded] : {std::pair<std::string_view, std::string_view>{"", ""},
                                      {"f", "Zg=="},
                                      {"fo", "Zm8="},
                                      {"foo", "Zm9v"},
                                      {"foob", "Zm9vYg=="},
                                      {"fooba", "Zm9vYmE="},
                                      {"foobar", "Zm9vYmFy"},
                                      {"\xff\xfe\xfb", "//77"}})
    EXPECT_EQ(base64(std::as_bytes(std::span(text))), encoded);
}

}  // namespace
}  // namespace millrace
