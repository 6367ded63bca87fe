// The programs in docs/stream.md are identical to those in examples/, which are built and run as tests (see
// CMakeLists.txt).
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <gtest/gtest.h>

namespace millrace::stream {
namespace {

std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator(file), {}};
}

TEST(ExamplesOfStreams, are_in_the_documentation_word_by_word) {
  const std::filesystem::path sources = MILLRACE_SOURCE_DIR;
  const std::string page = text_of(sources / "docs/stream.md");
  ASSERT_FALSE(page.empty());
  int examples = 0;
  for (const auto& entry : std::filesystem::directory_iterator(sources / "src/millrace/stream/examples")) {
    ++examples;
    EXPECT_NE(page.find("```cpp\n" + text_of(entry.path()) + "```"), std::string::npos)
        << entry.path() << " differs from the program in docs/stream.md";
  }
  EXPECT_EQ(examples, 2);
}

}  // namespace
}  // namespace millrace::stream
