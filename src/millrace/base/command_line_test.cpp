#include "millrace/base/command_line.h"

#include <array>
#include <cstdint>
#include <string>

#include <gtest/gtest.h>

namespace millrace {
namespace {

TEST(MakeDecimal, TakesZerosInFrontAndRefusesOtherBases) {
  for (const auto& [text, number] :
       std::array<std::pair<const char*, const char*>, 9>{{{"010", "10"},
                                                           {"0", "0"},
                                                           {"000", "0"},
                                                           {"010M", "10M"},
                                                           {"word", "word"},
                                                           {"", ""},
                                                           {"-07", "-7"},
                                                           {"18446744073709551615", "18446744073709551615"},
                                                           {"8", "8"}}}) {
    std::string read = text;
    EXPECT_EQ(make_decimal(read), "") << text;
    EXPECT_EQ(read, number);
  }
  for (const char* wrong : {"0x10", "-0x10", "0b1", "99999999999999999999"}) {
    std::string read = wrong;
    EXPECT_NE(make_decimal(read), "") << wrong;
  }
}

TEST(CommandLine, ReadsNumbersOfVerbsAsDecimalAndLeavesNamesAlone) {
  CLI::App app;
  std::int64_t frames = 0;
  std::string name;
  CLI::App* const verb = app.add_subcommand("run");
  verb->add_option("--frames", frames)->check(CLI::Range(1, 100));
  verb->add_option("name", name);
  std::array<std::string, 5> words{"prog", "run", "--frames", "010", "007"};
  std::array<char*, 6> argv{};
  for (std::size_t i = 0; i < words.size(); ++i)
    argv[i] = words[i].data();
  EXPECT_EQ(read_command_line(app, 5, argv.data(), "prog", "prog --help"), std::nullopt);
  EXPECT_EQ(frames, 10);
  EXPECT_EQ(name, "007");
  words[3] = "0x10";
  argv[3] = words[3].data();
  testing::internal::CaptureStderr();
  EXPECT_EQ(read_command_line(app, 5, argv.data(), "prog", "prog --help"), 2);
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "prog: --frames: 0x10 is not a decimal number; see prog --help\n");
}

}  // namespace
}  // namespace millrace
